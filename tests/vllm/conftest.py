"""A real vLLM on the CPU, as a server and in this process, with a Llama of a few hundred kilobytes.

Run by `make test-vllm` in an environment of its own; vLLM pins too much to live beside the rest.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nscma_torch.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.llm.engines.vllm_engine import VllmEngine
from tests.llm.tiny_llama import build

CONTEXT = 8192  # the prompts of a byte-level tokenizer of 400 words are long
START_SECONDS = 600


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny Llama; vLLM's attention on a CPU wants heads of at least 32 dimensions."""
    return build(tmp_path_factory.mktemp("models") / "tiny-llama", hidden_size=128, max_position_embeddings=CONTEXT)


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Address and process of `vllm serve`, stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager"]
    command += ["--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}']
    command += ["--served-model-name", "tiny", "--enable-prefix-caching", "--enable-prompt-tokens-details"]
    alone = {**os.environ, "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent, env=alone) as process:
        try:
            _wait(process, port, log)
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            OpenAIEngine(f"http://127.0.0.1:{port}", server="vllm").close()
            return
        except EngineError:
            time.sleep(1)
    raise RuntimeError(f"vLLM did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}")


@pytest.fixture(scope="session")
def http(server: tuple[str, subprocess.Popen[bytes]]) -> Iterator[OpenAIEngine]:
    """An engine that speaks to the server."""
    engine = OpenAIEngine(server[0], server="vllm", concurrency=64)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def in_process(model: Path) -> Iterator[VllmEngine]:
    """An engine that runs vLLM in this process."""
    engine = VllmEngine(model, dtype="float32", context=CONTEXT, eager=True)
    yield engine
    engine.close()


@pytest.fixture(params=["http", "in_process"])
def engine(request: pytest.FixtureRequest) -> LanguageEngine:
    """Each of the two."""
    found: LanguageEngine = request.getfixturevalue(request.param)
    return found
