"""Several server processes sharing one socket; one that dies is replaced.

Uvicorn's own supervisor is not used: it creates each process's server itself, and can't close a store after the last
request.
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
    """Run `child` with the socket in `count` processes until SIGTERM or SIGINT, then stop and await them.

    `child` is a module-level function, or a partial of one, as it is pickled for a fresh interpreter. Raises
    StoreAccessError if a process ends before it can have started; the others are stopped then.
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
    """Start a process; return it and its start time."""
    process = multiprocessing.get_context("spawn").Process(target=child, args=(listening,))
    process.start()
    return process, time.monotonic()


def _ended(process: BaseProcess, begun: float) -> bool:
    """Return whether a process has ended. Raises StoreAccessError if it never came up."""
    if process.is_alive():
        return False
    if process.exitcode and process.exitcode > 0 and time.monotonic() - begun < _QUICK:  # not by a signal
        raise StoreAccessError("a server process exited during startup; see its output above")
    return True
