"""Clients of a server that ask at the same time, each in a thread with a connection of its own."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from urllib.parse import urlsplit

TIMEOUT = 120  # seconds of a request


def at_once(url: str, clients: int, seed: int, client: Callable[[HTTPConnection, random.Random], None]) -> float:
    """Run so many clients, which begin together; the seconds until the last has ended."""
    ready = threading.Barrier(clients + 1)

    def run(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        connection = HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
        ready.wait()
        try:
            client(connection, rng)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for one in threads:
        one.start()
    ready.wait()
    began = time.perf_counter()
    for one in threads:
        one.join()
    return time.perf_counter() - began
