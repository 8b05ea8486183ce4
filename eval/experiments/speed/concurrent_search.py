"""Searches of several callers at once: how many a second `Memory.search` answers, and how long the slowest wait.

    python -m eval.experiments.speed.concurrent_search [--store FILE] [--before CHECKOUT] [--seconds 2] [--rounds 7]

Callers are threads of one process over one `Memory`; each asks one question after the other, of users drawn at random.
The store, which is made unless `--store` names one that this program made, holds messages of many users in plain
sentences, embedded by all-MiniLM-L6-v2; no job was run. `--before` names another checkout of this project, whose
package is measured too, by this same program in a second process. In every round the two take turns at each number of
callers, the one that begins changing from round to round; the other waits. The table has medians of the rounds.

Rates and milliseconds are by the clock, on a machine that may have other work: only what one table holds compares.
"processor" is what the process took of all processors, and depends less on that.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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

COLUMNS = ("searches/s", "p50 ms", "p95 ms", "processor ms")
Row = tuple[float, ...]  # a value for each column


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


def measure(memory: Memory, users: int, callers: int, seconds: float) -> Row:
    """What so many callers see who ask for so many seconds."""
    took: list[list[float]] = [[] for _ in range(callers)]
    ready, ends = threading.Barrier(callers + 1), threading.Event()

    def call(number: int) -> None:
        rng = random.Random(f"caller {number} at {time.time()}")
        ready.wait()
        while not ends.is_set():
            begin = time.perf_counter()
            memory.search(question(rng), user_id=name(rng.randrange(users)))
            took[number].append(time.perf_counter() - begin)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    ready.wait()
    began, worked = time.perf_counter(), time.process_time()
    ends.wait(seconds)
    ends.set()
    for thread in threads:
        thread.join()
    lasted, worked = time.perf_counter() - began, time.process_time() - worked
    every = sorted(1000 * value for own in took for value in own)
    count = len(every)
    return count / lasted, statistics.median(every), every[int(0.95 * count)], 1000 * worked / count


def serve(path: Path, users: int) -> None:
    """Measure for each line of input, "CALLERS SECONDS", and print the row as JSON."""
    with open_store(path) as memory:
        for user in range(users):
            memory.search("Who moved?", user_id=name(user))
        for line in sys.stdin:
            callers, seconds = line.split()
            print(json.dumps(measure(memory, users, int(callers), float(seconds))), flush=True)


@contextmanager
def served(checkout: Path, arguments: argparse.Namespace, store: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that measures with the package of a checkout."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", "--store", str(store)]
    command += ["--users", str(arguments.users), "--threads", str(arguments.threads)]
    paths = os.pathsep.join((str(checkout), str(checkout / "kernels")))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": str(arguments.threads)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.communicate()


def asked(process: subprocess.Popen[str], callers: int, seconds: float) -> Row:
    """One row of a process."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(callers, seconds, file=process.stdin, flush=True)
    return tuple(json.loads(process.stdout.readline()))


def compare(checkouts: dict[str, Path], arguments: argparse.Namespace, store: Path) -> dict[tuple[str, int], Row]:
    """The median of every column, for each checkout and number of callers."""
    rows: dict[tuple[str, int], list[Row]] = {
        (label, callers): [] for label in checkouts for callers in arguments.callers
    }
    with ExitStack() as stack:
        running = {label: stack.enter_context(served(path, arguments, store)) for label, path in checkouts.items()}
        for process in running.values():
            asked(process, 1, 0.1)  # it has started once it answers
        for turn in range(arguments.rounds):
            for callers in arguments.callers:
                for label in list(running)[:: -1 if turn % 2 else 1]:
                    rows[label, callers].append(asked(running[label], callers, arguments.seconds))
    return {key: tuple(map(statistics.median, zip(*own, strict=True))) for key, own in rows.items()}


def main() -> None:
    """Make the store, measure in turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a store that this program made, or will make and keep")
    parser.add_argument("--before", type=Path, help="another checkout, measured in turns with this one")
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--messages", type=int, default=150, help="of each user, where the store is made")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 2, 8, 32])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each number of callers in each round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--serve", action="store_true", help="measure what standard input asks for")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.serve:
        serve(arguments.store, arguments.users)
        return
    checkouts = {} if arguments.before is None else {"before": arguments.before.resolve()}
    checkouts["here"] = _ROOT
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or Path(folder) / "store.db"
        if not store.exists():
            fill(store, arguments.users, arguments.messages)
        rows = compare(checkouts, arguments, store)
    table = Table("callers", "checkout", *COLUMNS)
    for callers in arguments.callers:
        for label in checkouts:
            table.add_row(str(callers), label, *(f"{value:.1f}" for value in rows[label, callers]))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
