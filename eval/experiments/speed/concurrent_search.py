"""Searches of several callers at once: how many a second `Memory.search` answers, and how long the slowest wait.

    python -m eval.experiments.speed.concurrent_search [--store FILE] [--before CHECKOUT] [--seconds 4] [--rounds 3]

Callers are threads of one process over one `Memory`; each asks one question after the other, of users drawn at random.
The store, which is made unless `--store` names one that this program made, holds messages of many users in plain
sentences, embedded by all-MiniLM-L6-v2; no job was run. `--before` names another checkout of this project, whose
package is measured too, in turns with this one, by this same program. Every round is a process of its own: it first
searches each user once, then runs each number of callers for so many seconds. The table has the median of the rounds.

Rates and seconds are by the clock, on a machine that may have other work: only what one table holds compares.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.harness.fakes import IndifferentProxy
from nscma_torch import Memory, Message, load_config

_ROOT = Path(__file__).resolve().parents[3]
_WHO = ("My sister Ana", "The landlord", "Our neighbour Tomas", "Dr. Okafor", "The choir", "Grandfather", "My editor")
_DID = ("moved to", "painted", "sold the bicycle in", "signed the contract for", "complained about", "drew a map of")
_WHAT = ("the harbour house", "Kyoto", "warehouse 42", "the old library", "an orchard near Bergen", "the night ferry")
_WHEN = ("in spring", "before the storm", "last weekend", "after the concert", "on her birthday", "during the strike")

Rates = dict[int, tuple[float, float, float]]  # by callers: searches a second, median and 95th percentile in ms


def open_store(path: Path, proxy: IndifferentProxy | None = None) -> Memory:
    """The store, with the default configuration but a gate that asks nothing of a proxy."""
    return Memory(path, config=load_config({"gate": {"rule": "everything"}}), proxy=proxy)


def name(user: int) -> str:
    """The id of a user."""
    return f"user-{user}"


def fill(path: Path, users: int, messages: int) -> None:
    """Store so many messages of each user."""
    with open_store(path, IndifferentProxy()) as memory:
        for user in range(users):
            rng = random.Random(user)
            said = [
                f"{rng.choice(_WHO)} {rng.choice(_DID)} {rng.choice(_WHAT)} {rng.choice(_WHEN)}; it cost {i} euros."
                for i in range(messages)
            ]
            list(memory.add_many([Message("user", text) for text in said], user_id=name(user)))


def question(rng: random.Random) -> str:
    """A question that was most likely not asked before."""
    return f"Was it {rng.choice(_WHO)} who {rng.choice(_DID)} {rng.choice(_WHAT)} for {rng.randrange(10**6)} euros?"


def measure(path: Path, users: int, callers: list[int], seconds: float) -> Rates:
    """Searches a second and their milliseconds, for each number of callers."""
    found: Rates = {}
    with open_store(path) as memory:
        for user in range(users):
            memory.search("Who moved?", user_id=name(user))
        for count in callers:
            took: list[list[float]] = [[] for _ in range(count)]
            ready = threading.Barrier(count + 1)
            ends = threading.Event()

            def call(number: int, own: list[float], ready: threading.Barrier, ends: threading.Event) -> None:
                rng = random.Random(f"caller {number}")
                ready.wait()
                while not ends.is_set():
                    begin = time.perf_counter()
                    memory.search(question(rng), user_id=name(rng.randrange(users)))
                    own.append(time.perf_counter() - begin)

            threads = [threading.Thread(target=call, args=(i, own, ready, ends)) for i, own in enumerate(took)]
            for thread in threads:
                thread.start()
            ready.wait()
            began = time.perf_counter()
            ends.wait(seconds)
            ends.set()
            for thread in threads:
                thread.join()
            rate = sum(map(len, took)) / (time.perf_counter() - began)
            every = sorted(1000 * value for own in took for value in own)
            found[count] = rate, statistics.median(every), every[int(0.95 * len(every))]
    return found


def of_checkout(checkout: Path, arguments: argparse.Namespace, store: Path) -> Rates:
    """What this program measures with the package of a checkout, in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", "--store", str(store)]
    command += ["--users", str(arguments.users), "--seconds", str(arguments.seconds)]
    command += ["--callers", *map(str, arguments.callers), "--threads", str(arguments.threads)]
    paths = os.pathsep.join((str(checkout), str(checkout / "kernels")))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": str(arguments.threads)}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {int(count): tuple(values) for count, values in json.loads(run.stdout).items()}


def main() -> None:
    """Make the store, measure in turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a store that this program made, or will make and keep")
    parser.add_argument("--before", type=Path, help="another checkout, measured in turns with this one")
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--messages", type=int, default=150, help="of each user, where the store is made")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 2, 8, 32])
    parser.add_argument("--seconds", type=float, default=4.0, help="for each number of callers in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--measure", action="store_true", help="one round with the package at hand, as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.measure:
        print(json.dumps(measure(arguments.store, arguments.users, arguments.callers, arguments.seconds)))
        return
    checkouts = {} if arguments.before is None else {"before": arguments.before.resolve()}
    checkouts["here"] = _ROOT
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or Path(folder) / "store.db"
        if not store.exists():
            fill(store, arguments.users, arguments.messages)
        rounds: dict[str, list[Rates]] = defaultdict(list)
        for _ in range(arguments.rounds):
            for label, checkout in checkouts.items():
                rounds[label].append(of_checkout(checkout, arguments, store))
    table = Table("callers", *(f"{label}: {what}" for label in checkouts for what in ("searches/s", "p50 ms", "p95 ms")))
    for count in arguments.callers:
        columns = [zip(*(one[count] for one in rounds[label]), strict=True) for label in checkouts]
        table.add_row(str(count), *(f"{statistics.median(values):.1f}" for own in columns for values in own))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
