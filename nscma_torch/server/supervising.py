"""Run several server processes that share one socket, and replace any process that dies.

Uvicorn's own supervisor isn't used, because it creates the server in each process itself and can't close a store after
the last request.
"""

from __future__ import annotations

import multiprocessing
import signal
import socket
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess

from nscma_torch.core.errors import StoreAccessError

_LOOK = 0.2  # seconds between two looks at the processes
_QUICK = 30.0  # seconds within which a process that ends has not come up


def supervise(child: Callable[[socket.socket], None], listening: socket.socket, count: int) -> None:
    """Run `child` with the socket in `count` processes until SIGTERM or SIGINT, then stop them and wait for them to
    end.

    `child` must be a module-level function, or a partial of one, because it is pickled for a new interpreter. If a
    process ends during startup, the others are stopped and `StoreAccessError` is raised.
    """
    told: list[int] = []
    numbers: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT)
    before = {one: signal.signal(one, lambda number, _: told.append(number)) for one in numbers}
    running: list[tuple[BaseProcess, float]] = []
    try:
        while not told:
            running = [(process, begun) for process, begun in running if not _ended(process, begun)]
            running += [_started(child, listening) for _ in range(count - len(running))]
            time.sleep(_LOOK)
    finally:
        for process, _ in running:
            process.terminate()
        for process, _ in running:
            process.join()
        for one, handler in before.items():
            signal.signal(one, handler)


def _started(child: Callable[[socket.socket], None], listening: socket.socket) -> tuple[BaseProcess, float]:
    """Start a process; return the process and its start time."""
    process = multiprocessing.get_context("spawn").Process(target=child, args=(listening,))
    process.start()
    return process, time.monotonic()


def _ended(process: BaseProcess, begun: float) -> bool:
    """Return True if a process has ended. Raises `StoreAccessError` if it ended during startup."""
    if process.is_alive():
        return False
    if process.exitcode and process.exitcode > 0 and time.monotonic() - begun < _QUICK:  # not by a signal
        raise StoreAccessError("a server process exited during startup; see its output above")
    return True
