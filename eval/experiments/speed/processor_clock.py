"""Processor seconds of this process and of a PostgreSQL server on the same machine, together."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PROCESSES = "SELECT pid FROM pg_stat_activity"  # backends, and what writes behind them


class ProcessorClock:
    """Seconds since an arbitrary start, which other programs on the machine do not lengthen. Linux alone.

    Args:
        postgres: the address of a server on this machine, whose processes are counted; None for this process alone.
            A backend that ends takes its seconds along, so read the clock while the store is open.
    """

    def __init__(self, postgres: str | None = None) -> None:
        self._postgres = postgres

    def __call__(self) -> float:
        return time.process_time() + (0.0 if self._postgres is None else self._server(self._postgres))

    def _server(self, address: str) -> float:
        import psycopg

        with psycopg.connect(address) as connection:
            own = connection.info.backend_pid
            pids = [pid for (pid,) in connection.execute(_PROCESSES) if pid != own]
        return sum(seconds_of(pid) for pid in pids)


def seconds_of(pid: int) -> float:
    """Of a process since it began; 0 for one that has ended."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / _TICK  # utime and stime
