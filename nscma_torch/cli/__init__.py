"""The command line: `nscma`."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from nscma_torch.cli.options import COMPLETE, app

__all__ = ["app", "main"]

_COLLECT_AFTER = 100_000  # new objects; with Python's 700, importing torch spends a tenth of its time on collections


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 error (reported on stderr), 2 wrong usage, 130 interrupted."""
    # torch reads it when it is imported; small models on short texts: more threads cost more than they give
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # else it asks each installed package whether it has one
    gc.set_threshold(_COLLECT_AFTER)
    atexit.register(gc.disable)  # the last collection would search everything, to free what ends with the process
    from nscma_torch.core.errors import NscmaError

    if COMPLETE in os.environ:  # a shell's completion request, in the format Typer expects
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        app()
    except NscmaError as error:
        from nscma_torch.cli.output import fail

        fail(error)
        sys.exit(1)
