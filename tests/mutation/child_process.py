"""Runs a function in a forked process, within limits of time."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

CRASHED = 70  # exit code of a function that raised


def run_in_child(work: Callable[[], int], log: Path, cpu_seconds: float, wall_seconds: float) -> int | None:
    """Exit code of `work()` in a forked process, negative for a signal; None where it ran longer than a limit.

    What it prints is in `log`. Processes that it started and left are killed with it.
    """
    child = os.fork()
    if child == 0:
        code = CRASHED
        with log.open("w") as out:
            try:
                os.setsid()
                resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 2))
                os.dup2(out.fileno(), 1)
                os.dup2(out.fileno(), 2)
                sys.stdout = sys.stderr = out
                code = work()
            except BaseException:  # noqa: BLE001 - the parent's stack must not go on in the child
                traceback.print_exc()
            finally:
                out.flush()
                os._exit(code)
    until = time.monotonic() + wall_seconds
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < until:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
        return None
    code = os.waitstatus_to_exitcode(status)
    return None if code == -signal.SIGXCPU else code
