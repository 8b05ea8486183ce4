"""How many searches a second the server answers over HTTP, and how long one takes.

    python -m eval.experiments.speed.rest_speed [--messages 10000] [--clients 1 16 64] [--requests 20]

`nscma serve` is a process of its own, the clients are threads of this one; each asks `POST /v1/search` so many times,
one after the other on one connection, for something else each time, of one user with so many messages. The bundled
embedder reads every query. A client that is answered by another status than 200 counts an error and goes on. A run is
bounded by these numbers; nothing but the loopback is used. `--profile` shows where the threads of the server are while
the largest number of clients asks (needs py-spy, of Linux's own package or PyPI).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from rich.console import Console
from rich.table import Table

from eval.experiments.speed.clients import at_once
from eval.experiments.speed.proxy_speed import fill, question, serving


@dataclass(slots=True)
class Load:
    """What all clients together saw: seconds of each answer that was a 200, other outcomes by name."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    whole: float = 0.0


def search(connection: HTTPConnection, text: str) -> int:
    """One search; its status."""
    body = json.dumps({"query": text, "top_k": 10})
    connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    found = json.loads(answer.read())
    if answer.status == 200 and not found:
        raise RuntimeError("a search found nothing")
    return answer.status


def measure(url: str, clients: int, requests: int, seed: int) -> Load:
    """So many clients at once, each asking so many times."""
    load, lock = Load(), threading.Lock()

    def client(connection: HTTPConnection, rng: random.Random) -> None:
        for _ in range(requests):
            began = time.perf_counter()
            try:
                outcome = str(search(connection, question(rng)))
            except (OSError, HTTPException, ValueError, RuntimeError) as error:
                outcome = type(error).__name__
                connection.close()  # it is opened again by the next request
            with lock:
                if outcome == "200":
                    load.seconds.append(time.perf_counter() - began)
                else:
                    load.errors[outcome] += 1

    load.whole = at_once(url, clients, seed, client)
    return load


def row(clients: int, load: Load) -> list[str]:
    """One line of the table."""
    told = ", ".join(f"{count} {name}" for name, count in sorted(load.errors.items())) or "0"
    if not load.seconds:
        return [str(clients), "0", "", "", "", told]
    times = sorted(1000 * one for one in load.seconds)
    p95 = times[math.ceil(0.95 * len(times)) - 1]
    rate = len(times) / load.whole
    return [str(clients), str(len(times)), f"{rate:.1f}", f"{statistics.median(times):.1f}", f"{p95:.1f}", told]


def profiled(process: int, seconds: int) -> Sequence[str]:
    """The functions in which the threads of a process are most, by py-spy."""
    program = shutil.which("py-spy")
    if program is None:
        raise SystemExit("--profile needs py-spy: pip install py-spy")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "stacks"
        command = [program, "record", "--pid", str(process), "--duration", str(seconds), "--format", "raw"]
        subprocess.run([*command, "--output", str(out)], check=True, capture_output=True)
        counts: Counter[str] = Counter()
        for line in out.read_text().splitlines():
            stack, _, samples = line.rpartition(" ")
            for frame in set(stack.split(";")):
                counts[frame] += int(samples)
    return [f"{samples:6d} {frame}" for frame, samples in counts.most_common(40)]


def main() -> None:
    """Print a table: a row for each number of clients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000, help="in the store")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--requests", type=int, default=20, help="of each client")
    parser.add_argument("--profile", action="store_true", help="sample the server under the most clients")
    arguments = parser.parse_args()
    table = Table("clients", "answers", "searches/s", "p50 ms", "p95 ms", "errors")
    frames: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "speed.db"
        fill(store, arguments.messages)
        with serving(store) as server:
            measure(server.url, 1, 3, seed=0)  # models and index are loaded
            for clients in arguments.clients:
                table.add_row(*row(clients, measure(server.url, clients, arguments.requests, seed=clients)))
            if arguments.profile:
                sampling = threading.Thread(target=lambda: frames.extend(profiled(server.process, 5)))
                sampling.start()
                while sampling.is_alive():
                    measure(server.url, max(arguments.clients), 2, seed=1)
                sampling.join()
    Console(width=100).print(table)
    for frame in frames:
        print(frame)


if __name__ == "__main__":
    main()
