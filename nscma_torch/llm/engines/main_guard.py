"""Detect scripts that start vLLM outside `if __name__ == "__main__":`.

vLLM runs its engine in a process of its own. Once CUDA is initialised, that process is spawned: it runs the script
again from the top and would start vLLM again, while the first process waits for it until a timeout of ten minutes.
"""

from __future__ import annotations

import ast
import os
import platform
import sys
import threading
from pathlib import Path
from types import FrameType

import torch

from nscma_torch.core.errors import ConfigError


def check_main_guard() -> None:
    """Raise ConfigError if vLLM would be spawned from a script that has no `__main__` guard."""
    place = unguarded_call() if _spawns() else None
    if place is not None:
        raise ConfigError(
            f"{place} starts vLLM at the top level of a script, and vLLM's engine process would run that script again: "
            "move the code into a function and call it under `if __name__ == '__main__':`"
        )


def unguarded_call() -> str | None:
    """Return the file and line at which the main script is running outside a `__main__` guard, or None if it isn't."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    spec = getattr(main, "__spec__", None)
    if path is None or (spec is not None and spec.name.rpartition(".")[2] == "__main__"):
        return None  # a spawned process does not run these again: interactive sessions and package/__main__.py
    line = _running_line(main.__dict__)
    try:
        source = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return None if line is None or is_guarded(source, line) else f"{path}, line {line},"


def is_guarded(source: str, line: int) -> bool:
    """Return True if a line is inside an `if` block that tests `__name__` for "__main__"."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return True  # not a Python script: nothing is known about it
    tests = [
        node.test
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return any(_tests_name(test) for test in tests)


def _tests_name(test: ast.expr) -> bool:
    nodes = list(ast.walk(test))
    named = any(isinstance(node, ast.Name) and node.id == "__name__" for node in nodes)
    return named and any(isinstance(node, ast.Constant) and node.value == "__main__" for node in nodes)


def _running_line(namespace: dict[str, object]) -> int | None:
    """Return the line that the main thread is running in the body of the module with this namespace."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    line = None
    while frame is not None:
        if frame.f_globals is namespace and frame.f_code.co_name == "<module>":
            line = frame.f_lineno
        frame = frame.f_back
    return line


def _spawns() -> bool:
    """Return True if vLLM would spawn its engine process. Decided as in `vllm.utils.system_utils`, for one machine."""
    if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0":
        return False  # the engine runs in this process
    method = os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "")
    initialized: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return method == "spawn" or initialized or "microsoft" in platform.uname().release.lower()
