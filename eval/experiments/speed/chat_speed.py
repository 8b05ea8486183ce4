"""What a search costs in a chat in which every turn is worked off before the next: `add`, `flush`, `search`.

    python -m eval.experiments.speed.chat_speed --data DIR [--turns 1000]

Turns are sentences of a novel; questions are sentences of another one. Each flush gives the hierarchy what was said,
and renews the summaries that saw it, so each search finds an index that is out of date. Vectors are hashed words: the
encoder is left out. Times are processor milliseconds of this process in `search` alone; rows are those of units that
the index read from the store for it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.speed.search_speed import sentences
from eval.harness.fakes import IndifferentProxy
from nscma_torch import Memory, load_config
from nscma_torch.storage.user_index import UserIndex

_USER = "reader"
_PARTS = 4  # of the chat, a row of the table each


@contextmanager
def counted() -> Iterator[list[int]]:
    """The number of rows of each block that an index reads."""
    blocks: list[int] = []
    append = UserIndex._append

    def noted(index: UserIndex, read: Mapping[str, Sequence[Any]], *more: Any) -> None:
        blocks.append(len(read["seq"]))
        append(index, read, *more)

    with mock.patch.object(UserIndex, "_append", noted):
        yield blocks


def measure(memory: Memory, said: Sequence[str], questions: Sequence[str]) -> list[tuple[float, int, int]]:
    """Of each turn: processor milliseconds of its search, rows read for it, and units there are."""
    turns = []
    for i, text in enumerate(said):
        memory.add(text, user_id=_USER)
        memory.flush()
        with counted() as blocks:
            begin = time.process_time()
            memory.search(questions[i % len(questions)], user_id=_USER)
            took = 1000 * (time.process_time() - begin)
        turns.append((took, sum(blocks), sum(memory.stats(user_id=_USER).units.values())))
    return turns


def main() -> None:
    """Hold the chat and print one row for each part of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds novels/")
    parser.add_argument("--turns", type=int, default=1000, help="messages of the chat")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    first, *paths = sorted((arguments.data / "novels").glob("*.txt"))
    said, questions = sentences(paths, arguments.turns), sentences([first], 100)
    config = load_config({"gate": {"rule": "everything"}, "embedder": {"model": "hash"}})
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "chat.db", config=config, proxy=IndifferentProxy()) as memory,
    ):
        turns = measure(memory, said, questions)
    table = Table("turns", "units", "search p50 ms", "p95 ms", "rows read p50", "p95", "all")
    size = max(1, -(-len(turns) // _PARTS))
    for start in range(0, len(turns), size):
        part = turns[start : start + size]
        took, rows, _ = zip(*part, strict=True)
        cells = (statistics.median(took), sorted(took)[int(0.95 * len(took))])
        read = (statistics.median(rows), sorted(rows)[int(0.95 * len(rows))], sum(rows))
        table.add_row(
            f"{start + 1}-{start + len(part)}",
            f"{part[-1][2]:,}",
            *(f"{value:.2f}" for value in cells),
            *(f"{value:,.0f}" for value in read),
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
