"""Engines stop cleanly: no process stays behind, and later calls say why nothing comes."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from nscma_torch.errors import EngineUnavailableError
from nscma_torch.llm.engines.contract import Request, Turn
from nscma_torch.llm.engines.http import HttpEngine
from nscma_torch.llm.engines.vllm_engine import VllmEngine

pytestmark = pytest.mark.vllm

REQUEST = Request((Turn("user", "hello"),), max_tokens=4)


def children() -> set[int]:
    """Ids of the living child processes of this one."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.add(int(folder.name))
    return found


def test_in_process(model: Path) -> None:
    before = children()
    engine = VllmEngine(model, dtype="float32", context=512, eager=True)
    started = children() - before
    engine.close()
    engine.close()
    (error,) = engine.generate([REQUEST])
    assert isinstance(error, EngineUnavailableError) and "closed" in str(error)
    multiprocessing.active_children()  # reaps what has ended
    tracker = {pid for pid in started if "resource_tracker" in Path(f"/proc/{pid}/cmdline").read_text()}
    assert children() - before <= tracker


def test_http(server: tuple[str, object]) -> None:
    engine = HttpEngine(server[0], server="vllm")
    engine.close()
    (error,) = engine.generate([REQUEST])
    assert isinstance(error, EngineUnavailableError)
