"""How fast documents are stored: many short ones, and one long one, with and without units of what they say.

    python -m eval.experiments.speed.document_speed --data DIR [--documents 300] [--kilobytes 200]

Short ones are HotpotQA's paragraphs, a document each; the long one is the beginning of a novel. `add` ends with the
commit to disk, `flush` when all background work is done: facts, the hierarchy, and, by facts.units, a unit for each
triple and each sentence that states a fact. Times depend on the machine; the ratios are the result.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.systems.files import folder_bytes
from eval.tasks.corpus import file_messages
from eval.tasks.multihop import load_hotpot
from nscma_torch import Memory
from nscma_torch.records import Message

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "default": {},
        'units = ["triple"]': {"facts": {"units": ["triple"]}},
        'units = ["triple", "atomic_fact"]': {"facts": {"units": ["triple", "atomic_fact"]}},
    }
)


def stored(messages: Sequence[Message], config: Mapping[str, Any]) -> tuple[float, float, int, int]:
    """Seconds to add and to flush, bytes of the store, and how many units there are."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "documents.db", config=config) as memory:
        memory.add("Ann moved to Oslo.", user_id="warm")
        memory.flush()
        began = time.perf_counter()
        list(memory.add_many(messages, user_id="reader"))
        added = time.perf_counter()
        memory.flush()
        flushed = time.perf_counter()
        units = sum(memory.stats(user_id="reader").units.values())
        return added - began, flushed - added, folder_bytes(Path(folder)), units


def main() -> None:
    """Print the seconds and their ratios to the default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds multihop/ and novels/")
    parser.add_argument("--documents", type=int, default=300, help="short documents")
    parser.add_argument("--kilobytes", type=int, default=200, help="of the long document")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    short = [
        Message("document", document.text, source=document.name)
        for document in load_hotpot(arguments.data).documents[: arguments.documents]
    ]
    novel = min((arguments.data / "novels").glob("*.txt"))
    text = novel.read_text(encoding="utf-8")[: 1000 * arguments.kilobytes]
    long = file_messages(novel.name, text)
    console = Console(width=140)
    for title, messages in ((f"{len(short)} paragraphs", short), (f"{len(text) // 1000} KB of {novel.name}", long)):
        size = sum(len(message.content.encode()) for message in messages)
        table = Table("setting", "units", "add s", "flush s", "KB/s", "of the default's time", "store MB", title=title)
        stored(messages, {})  # once untimed: the first time a shape comes, its kernel is compiled
        default = None
        for name, config in SETTINGS.items():
            add, flush, store, units = stored(messages, config)
            default = default or add + flush
            cells = [add, flush, size / 1000 / (add + flush), (add + flush) / default, store / 1e6]
            table.add_row(name, str(units), *(f"{cell:.3g}" for cell in cells))
        console.print(table)


if __name__ == "__main__":
    main()
