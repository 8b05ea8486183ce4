"""Engines stop cleanly: no process stays behind, and later calls say why nothing comes."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.llm.engines.contract import Request, Turn
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.llm.engines.vllm_engine import VllmEngine

pytestmark = pytest.mark.vllm

REQUEST = Request((Turn("user", "hello"),), max_tokens=4)


def children() -> set[psutil.Process]:
    """The child processes of this one, multiprocessing's own resource tracker left out."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        try:
            if "multiprocessing.resource_tracker" not in " ".join(child.cmdline()):
                found.add(child)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def test_in_process(model: Path) -> None:
    before = children()
    engine = VllmEngine(model, dtype="float32", context=512, eager=True)
    started = children() - before
    assert started
    engine.close()
    engine.close()
    (error,) = engine.generate([REQUEST])
    assert isinstance(error, EngineUnavailableError) and "closed" in str(error)
    _, left = psutil.wait_procs(list(started), timeout=30)
    assert not left, [process.cmdline() for process in left]


def test_http(server: tuple[str, object]) -> None:
    engine = OpenAIEngine(server[0], server="vllm")
    engine.close()
    (error,) = engine.generate([REQUEST])
    assert isinstance(error, EngineUnavailableError)
