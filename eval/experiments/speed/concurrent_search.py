"""Searches per second of several callers at once, and how long the slowest wait.

    python -m eval.experiments.speed.concurrent_search [--callers 1 2 8 32] [--seconds 2] [--rounds 3]

Callers are threads of one process over one `Memory`. Each asks one question after the other, of users drawn at random.
The store holds plain sentences of many users, embedded by all-MiniLM-L6-v2; no background job runs. In every round each
number of callers takes a turn; the table has the medians.

Times depend on the machine: compare the ratios to one caller. "processor" is the time of this process on all cores, and
depends less on what else runs.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.harness.fakes import IndifferentSurpriseModel
from nscma_torch import Memory, Message, load_config

_WHO = ("My sister Ana", "The landlord", "Our neighbour Tomas", "Dr. Okafor", "The choir", "Grandfather", "My editor")
_DID = ("moved to", "painted", "sold the bicycle in", "signed the contract for", "complained about", "drew a map of")
_WHAT = ("the harbour house", "Kyoto", "warehouse 42", "the old library", "an orchard near Bergen", "the night ferry")
_WHEN = ("in spring", "before the storm", "last weekend", "after the concert", "on her birthday", "during the strike")

Row = tuple[float, float, float, float]  # searches per second; p50, p95 and processor milliseconds per search


def name(user: int) -> str:
    """The id of a user."""
    return f"user-{user}"


def fill(memory: Memory, users: int, messages: int) -> None:
    """Store `messages` messages of each user, then search each once, which loads their index."""
    for user in range(users):
        rng = random.Random(user)
        said = [
            f"{rng.choice(_WHO)} {rng.choice(_DID)} {rng.choice(_WHAT)} {rng.choice(_WHEN)}; it cost {i} euros."
            for i in range(messages)
        ]
        list(memory.add_many([Message("user", text) for text in said], user_id=name(user)))
        memory.search("Who moved?", user_id=name(user))


def question(rng: random.Random) -> str:
    """A question that is unlikely to have been asked before."""
    return f"Was it {rng.choice(_WHO)} who {rng.choice(_DID)} {rng.choice(_WHAT)} for {rng.randrange(10**6)} euros?"


def measure(memory: Memory, users: int, callers: int, seconds: float, round_: int) -> Row:
    """Rate and waiting times of `callers` callers that ask for `seconds`."""
    took: list[list[float]] = [[] for _ in range(callers)]
    ready, ends = threading.Barrier(callers + 1), threading.Event()

    def call(number: int) -> None:
        rng = random.Random(f"round {round_}, caller {number} of {callers}")
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


def main() -> None:
    """Fill a store, measure in turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--messages", type=int, default=150, help="of each user")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 2, 8, 32])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each number of callers in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = load_config({"gate": {"rule": "everything"}})
    rows: dict[int, list[Row]] = {callers: [] for callers in arguments.callers}
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "store.db", config=config, surprise_model=IndifferentSurpriseModel()) as memory,
    ):
        fill(memory, arguments.users, arguments.messages)
        for round_ in range(arguments.rounds):
            for callers, own in rows.items():
                own.append(measure(memory, arguments.users, callers, arguments.seconds, round_))
    table = Table("callers", "searches/s", "of the first row", "p50 ms", "p95 ms", "processor ms")
    medians = {
        callers: [statistics.median(column) for column in zip(*own, strict=True)] for callers, own in rows.items()
    }
    first = next(iter(medians.values()))[0]
    for callers, (rate, *waits) in medians.items():
        table.add_row(str(callers), f"{rate:.1f}", f"{rate / first:.2f}", *(f"{wait:.1f}" for wait in waits))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
