"""What the memory proxy costs: time to the first token, tokens a second and the wait for the end of an answer (which
comes once the exchange is on disk), beside the bare server behind it.

    python -m eval.experiments.speed.proxy_speed [--messages 10000] [--clients 1 16 64] [--requests 8] [--tokens 64]

The server behind it has no model: each answer is a stream of `--tokens` words, one every `--pace` milliseconds. It and
the proxy are processes of their own, the clients threads of this one; each asks `--requests` times, one after the
other, for something else each time, and is answered out of a store with so many messages of one user. The bundled
embedder reads every question. A run is bounded by these numbers; nothing but the loopback is used.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path

from rich.console import Console
from rich.table import Table

from eval.experiments.speed.clients import at_once
from eval.harness.fake_chat_server import Asked, Said, fake_chat_server, streamed
from nscma_torch import Memory, Message, load_config

_USER = "default"
_NAMES = ("Ana", "Bruno", "Chidi", "Dana", "Emre", "Fumiko", "Greta", "Hugo", "Ines", "Jonas")
_ACTIONS = ("moved to", "painted a house in", "sold a boat in", "met a friend in", "opened a shop in", "wrote from")
_TOWNS = ("Porto", "Leeds", "Kyoto", "Bergen", "Quito", "Lagos", "Turin", "Perth", "Hanoi", "Tartu")
_THINGS = ("harbour", "orchard", "library", "bakery", "theatre", "market", "museum", "bridge", "garden", "station")


@dataclass(frozen=True, slots=True)
class Timing:
    """One answer.

    Attributes:
        first: seconds to the first event.
        events: how many there were.
        end: seconds from the last event with a token to the end.
        recall: seconds of recall, by its header, where something was recalled.
        stored: whether it is on disk, as far as the proxy says.
    """

    first: float
    events: int
    end: float
    recall: float | None
    stored: bool


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, and the number of its process."""

    url: str
    process: int


def sentence(number: int) -> str:
    """A message; no two are alike."""
    rng = random.Random(number)
    parts = (rng.choice(_NAMES), rng.choice(_ACTIONS), rng.choice(_TOWNS), rng.choice(_THINGS))
    return "{} {} {} near the {} in {}, as entry {} says.".format(*parts, rng.randint(1950, 2024), number)


def question(rng: random.Random) -> str:
    """Something to look up; no two are alike."""
    words = (rng.choice(_NAMES), rng.choice(_THINGS), rng.choice(_TOWNS))
    return "What do you know of {} and the {} in {}?".format(*words) + f" ({rng.random()})"


def fill(store: Path, messages: int) -> None:
    """A store with so many messages, embedded and indexed; not read for facts, which takes hours for as many."""
    with Memory(store, config=load_config({"gate": {"rule": "everything"}})) as memory:
        said = (Message("user", sentence(number)) for number in range(messages))
        for _ in memory.add_many(said, user_id=_USER, infer=False):
            continue
        memory.search("warm", user_id=_USER)


@contextmanager
def serving(store: Path, upstream: str | None = None) -> Iterator[Server]:
    """`nscma serve` on a free port, in front of a model's server or not."""
    command = [sys.executable, "-m", "nscma_torch", "serve", "--store", str(store), "--port", "0", "--json"]
    command += [] if upstream is None else ["--upstream", upstream]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=alone) as process:
        assert process.stdout is not None
        try:
            yield Server(json.loads(process.stdout.readline())["url"], process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)


@contextmanager
def bare(tokens: int, pace: float) -> Iterator[str]:
    """The server without a model in a process of its own; gives its address."""
    command = [sys.executable, "-m", "eval.experiments.speed.proxy_speed", "--bare", str(tokens), str(pace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate("end\n", timeout=30)


def be_bare(tokens: int, pace: float) -> None:
    """Serve until a line comes on stdin. `pace` is in milliseconds between two tokens."""
    said = streamed([f"word{number} " for number in range(tokens)])

    def answer(_: Asked) -> Said:
        return replace(said, pace=pace / 1000)

    with fake_chat_server(answer) as server:
        print(server.url, flush=True)
        sys.stdin.readline()


def ask(connection: HTTPConnection, text: str) -> Timing:
    """One streamed completion."""
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]})
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    events, first, last, stored = 0, math.nan, math.nan, True
    while line := answer.readline():
        now = time.perf_counter() - began
        if line.startswith(b": x-nscma-stores"):
            stored = False
        elif line.startswith(b"data: {"):
            first = now if not events else first
            events, last = events + 1, now
    if answer.status != 200:
        raise RuntimeError(f"the server answered {answer.status}")
    recalled = answer.headers.get("x-nscma-memory") == "recalled"
    recall = float(answer.headers["x-nscma-seconds"]) if recalled else None
    return Timing(first, events, time.perf_counter() - began - last, recall, stored)


def measure(url: str, clients: int, requests: int, seed: int) -> tuple[list[Timing], float]:
    """All answers to so many clients at once, and the seconds that all took."""
    found: list[Timing] = []
    faults: list[Exception] = []

    def client(connection: HTTPConnection, rng: random.Random) -> None:
        try:
            found.extend(ask(connection, question(rng)) for _ in range(requests))
        except (OSError, RuntimeError) as error:
            faults.append(error)

    seconds = at_once(url, clients, seed, client)
    if faults:
        raise faults[0]
    return found, seconds


def row(name: str, clients: int, found: Sequence[Timing], seconds: float) -> list[str]:
    """One line of the table."""
    firsts = sorted(1000 * one.first for one in found)
    ends = sorted(1000 * one.end for one in found)
    place = math.ceil(0.95 * len(found)) - 1
    rate = sum(one.events for one in found) / seconds
    recalls = [1000 * one.recall for one in found if one.recall is not None]
    recall = f"{statistics.median(recalls):.1f} ({len(recalls)})" if recalls else ""
    return [
        name,
        str(clients),
        str(len(found)),
        f"{statistics.median(firsts):.1f}",
        f"{firsts[place]:.1f}",
        f"{rate:,.0f}",
        f"{statistics.median(ends):.1f}",
        f"{ends[place]:.1f}",
        str(sum(not one.stored for one in found)),
        recall,
    ]


def main() -> None:
    """Print a table: a row for each number of clients, bare and with the proxy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000, help="in the store")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--requests", type=int, default=8, help="of each client")
    parser.add_argument("--tokens", type=int, default=64, help="of an answer")
    parser.add_argument("--pace", type=float, default=5.0, help="milliseconds between two of them")
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        be_bare(int(arguments.bare[0]), float(arguments.bare[1]))
        return
    table = Table(
        *("", "clients", "answers", "first token p50 ms", "p95 ms", "tokens/s", "end p50 ms", "p95 ms", "not on disk"),
        "recall p50 ms (of)",
    )
    with tempfile.TemporaryDirectory() as folder, bare(arguments.tokens, arguments.pace) as upstream:
        store = Path(folder) / "speed.db"
        fill(store, arguments.messages)
        with serving(store, upstream) as proxy:
            measure(proxy.url, 1, 3, seed=0)  # models and index are loaded
            for clients in arguments.clients:
                for name, url in (("bare", upstream), ("proxy", proxy.url)):
                    table.add_row(*row(name, clients, *measure(url, clients, arguments.requests, seed=clients)))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
