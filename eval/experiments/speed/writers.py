"""Adds of several processes at once: how many messages a second a store takes, in a file and in PostgreSQL.

    python -m eval.experiments.speed.writers [--postgres ADDRESS] [--writers 1 4 8] [--batches 1 64]

Each writer is a process with a `Memory` of its own, which adds messages of a user of its own, a batch after the other,
each acknowledged when it is on disk. Embeddings are hashes, the gate passes all without a proxy, no job is run: what is
measured is the store. A file is new in every run; the schema of PostgreSQL stays, and each run has new users in it. In
every round the stores take turns, and the table has the medians of the rounds. Writers, and the server beside them,
share the processors of the machine: more writers than processors show who waits for whom, and not how fast a larger
machine is.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
import uuid
from multiprocessing.synchronize import Barrier
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.harness.fakes import IndifferentProxy
from nscma_torch import Memory, Message, load_config

CONFIG = {
    "device": "cpu",
    "embedder": {"model": "hash"},
    "gate": {"rule": "everything"},
    "store": {"busy_timeout": 60.0},
}
_TEXT = "Parcel {} went from the harbour to the flat of our neighbour Tomas, who signed for it."


def write(store: str, user: str, batch: int, seconds: float, ready: Barrier) -> int:
    """Add batches for so many seconds once all are ready; the number of messages."""
    torch.set_num_threads(1)
    with Memory(store, config=load_config(CONFIG), proxy=IndifferentProxy()) as memory:
        memory.add(_TEXT.format("0"), user_id=user)
        ready.wait()
        until, added = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            memory.add([Message("user", _TEXT.format(added + i)) for i in range(batch)], user_id=user)
            added += batch
    return added


def rate(store: str, writers: int, batch: int, seconds: float) -> float:
    """Messages a second that so many writers add together."""
    spawn = multiprocessing.get_context("spawn")
    run = uuid.uuid4().hex
    with spawn.Manager() as manager, spawn.Pool(writers) as pool:
        ready = manager.Barrier(writers)
        work = [(store, f"{run} {number}", batch, seconds, ready) for number in range(writers)]
        return sum(pool.starmap(write, work, chunksize=1)) / seconds


def main() -> None:
    """Print a row for each batch size and number of writers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", help="address of a store in PostgreSQL: postgresql://…", metavar="ADDRESS")
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="messages in an add")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    kinds = ["SQLite", *(["PostgreSQL"] if arguments.postgres else [])]
    table = Table("messages in an add", "writers", *(f"{kind}, messages/s" for kind in kinds))
    for batch in arguments.batches:
        for writers in arguments.writers:
            rates: dict[str, list[float]] = {kind: [] for kind in kinds}
            for _ in range(arguments.rounds):
                for kind in kinds:
                    with tempfile.TemporaryDirectory() as folder:
                        store = arguments.postgres if kind == "PostgreSQL" else str(Path(folder) / "store.db")
                        rates[kind].append(rate(store, writers, batch, arguments.seconds))
            shown = [
                f"{statistics.median(rates[kind]):.0f} ({min(rates[kind]):.0f}-{max(rates[kind]):.0f})"
                for kind in kinds
            ]
            table.add_row(str(batch), str(writers), *shown)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
