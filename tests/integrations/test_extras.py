"""Without a framework the product imports, and its adapter says what to install; the page's examples are true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
WITHOUT = """
import importlib, sys
for name in ("langgraph", "langchain_core", "llama_index"):
    sys.modules[name] = None
from nscma_torch import Memory
for name in ("langgraph", "langchain", "llamaindex"):
    try:
        importlib.import_module(f"nscma_torch.integrations.{name}")
    except ImportError as error:
        print(type(error).__name__, error)
"""


def test_without_the_frameworks() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    for line, extra in zip(done.stdout.splitlines(), ("langgraph", "langchain", "llamaindex"), strict=True):
        assert line.startswith("MissingDependencyError ")
        assert f"pip install 'nscma-torch[{extra}]'" in line


@pytest.mark.parametrize("code", EXAMPLES, ids=("langgraph", "langchain", "llamaindex"))
def test_the_examples(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    light = "memory = Memory('memory.db', config={'embedder': {'model': 'hash'}, 'reading': {'model': 'none'}})"
    exec(code.replace('memory = Memory("memory.db")', light), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# → (.*)$", code, flags=re.MULTILINE)
