"""The quick starts of docs/models.md against a real llama.cpp server, at the port and with the section of each.

    NSCMA_GGUF=model.gguf pytest -m prove tests/llm/test_quick_starts.py

It needs `llama-server` on the PATH and a small instruct model as a GGUF file. Where another program is named, its port
and section are used, and llama.cpp answers in its place: the commands of the other programs are not run.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from nscma_torch import Memory
from nscma_torch.cli import app

pytestmark = [
    pytest.mark.prove,
    pytest.mark.skipif(
        shutil.which("llama-server") is None or "NSCMA_GGUF" not in os.environ,
        reason="needs llama-server on the PATH, and NSCMA_GGUF",
    ),
]
PAGE = Path(__file__).parents[2].joinpath("docs", "models.md").read_text(encoding="utf-8")
STARTS = re.findall(r"^## ([\w. ]+)\n\n```sh\n.*?```\n\n```toml\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)


@contextmanager
def serving(port: int) -> Iterator[None]:
    """Run llama-server at a port until the block ends."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            pytest.skip(f"something else listens at port {port}")
    options = ["-m", os.environ["NSCMA_GGUF"], "-c", "8192", "-np", "1", "--no-repack", "--port", str(port)]
    process = subprocess.Popen(
        ["llama-server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _wait_until_ready(process, port)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(600):
        if process.poll() is not None:
            pytest.fail(f"llama-server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail("llama-server did not become ready")


def test_each_program_has_a_quick_start() -> None:
    assert [name for name, _ in STARTS] == ["Ollama", "llama.cpp", "vLLM", "LM Studio"]


@pytest.mark.parametrize(("name", "section"), STARTS, ids=[name for name, _ in STARTS])
def test_a_quick_start_answers_a_question(name: str, section: str, tmp_path: Path) -> None:
    config: dict[str, Any] = tomllib.loads(section)
    port = urlsplit(config["llm"]["base_url"]).port
    assert port is not None
    if name == "vLLM":  # whose own requests for log-probabilities llama.cpp doesn't know
        config["llm"]["server"] = "other"
    config["llm"].setdefault("model", "model")
    config["llm"].setdefault("context", 8192)
    config["facts"] = {"instead_of_model": 0.0, "answer": False}
    config["reading"] = {"instead_of_model": 1.0}
    with serving(port):
        found = CliRunner().invoke(app, ["setup", str(tmp_path / "nscma.toml")])
        assert found.exit_code == 0, found.output
        assert tomllib.loads((tmp_path / "nscma.toml").read_text())["llm"]["base_url"].endswith(f":{port}")
        with Memory(tmp_path / "store.db", config=config) as memory:
            memory.add("My sister Kinga keeps eleven hens behind the mill.", user_id="ana")
            memory.flush()
            answer = memory.ask("How many hens does my sister keep?", user_id="ana")
    assert answer.usage.llm_calls >= 1
    assert not answer.notes
    assert re.search(r"\b(eleven|11)\b", answer.short, re.IGNORECASE)
