"""English novels of the 19th century as plain text, a corpus without questions: what a memory of a given size holds.

Source: computationalstylistics/100_english_novels, 25 of them, boilerplate removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from eval.tasks.corpus import Document
from nscma_torch.core.records import Message
from nscma_torch.text.chunker import Chunker


def load(data: Path) -> Iterator[Document]:
    """The novels of `data/novels` in the order of their names, read one by one."""
    for path in sorted((data / "novels").glob("*.txt")):
        yield Document(path.stem, path.read_text(encoding="utf-8"))


def chunk_messages(data: Path, count: int, chunker: Chunker) -> list[Message]:
    """The first `count` chunks, a message each, one stream for each novel.

    Raises `ValueError` where the novels have fewer.
    """
    chunks = (
        Message("document", chunk.text, source=novel.name)
        for novel in load(data)
        for chunk in chunker.chunk(novel.text)
    )
    found = list(islice(chunks, count))
    if len(found) < count:
        raise ValueError(f"{data / 'novels'} holds {len(found)} chunks, and {count} are asked for")
    return found
