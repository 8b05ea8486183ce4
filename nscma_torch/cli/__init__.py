"""The command line: `nscma`."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nscma_torch.cli.options import app

__all__ = ["app", "main", "run_app"]

_COLLECT_AFTER = 100_000  # new objects; with Python's 700, importing torch spends a tenth of its time on collections


def __getattr__(name: str) -> Any:
    """Import the application when it is asked for: a command that runs in a warm process needs no part of it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nscma_torch.cli.options import app

    return app


def main() -> None:
    """Run a command in a warm process if there is one, else in this process."""
    from nscma_torch.cli.warm_process.client import run_warm

    status = run_warm(sys.argv[1:])
    if status is not None:
        sys.exit(status)
    run_app()


def run_app() -> None:
    """Run the command line. Exit codes: 0 success, 1 error (reported on stderr), 2 wrong usage, 130 interrupted."""
    # torch reads it when it is imported; small models on short texts: more threads cost more than they give
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # else it asks each installed package whether it has one
    gc.set_threshold(_COLLECT_AFTER)
    atexit.register(gc.disable)  # the last collection would search everything, to free what ends with the process
    from nscma_torch.cli.options import COMPLETE, app
    from nscma_torch.core.errors import NscmaError

    if COMPLETE in os.environ:  # a shell's completion request, in the format Typer expects
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        app(prog_name="nscma")
    except NscmaError as error:
        from nscma_torch.cli.output import fail

        fail(error)
        sys.exit(1)
