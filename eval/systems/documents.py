"""Long documents in parts, as the product's readers of files cut them, so that all systems see the same passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import torch
from torch import Tensor

from eval.harness.contract import Passage
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Message
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.files.documents import BLOCK_CHARS, text_messages
from nscma_torch.text.sentences import split_sentences

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)  # when messages without a time are stored: before every question
RANKED = 50  # results whose places are evidence, read or not: more than the chunks of ten places, mostly
_NO_LIMIT = 1 << 60  # bytes: what is too long for a part is cut here, at sentences


def parts(message: Message, characters: int = BLOCK_CHARS) -> list[str]:
    """The text of a document in runs of paragraphs of at most so many characters; of other messages, the whole.

    A paragraph that is longer is cut between sentences; a sentence that is longer stands alone. 0 cuts nothing. What
    says nothing, such as a turn of a transcript in which nobody was understood, has no part.
    """
    if not message.content.strip():
        return []
    if message.role != "document" or not characters or len(message.content) <= characters:
        return [message.content]
    found: list[str] = []
    for _, part in text_messages(message.content, _NO_LIMIT):
        found += [part.content] if len(part.content) <= characters else _runs(part.content, characters)
    return found


def placed_parts(message: Message, characters: int = BLOCK_CHARS) -> Iterator[tuple[int, str]]:
    """`parts`, each after the number of characters in those before it."""
    start = 0
    for part in parts(message, characters):
        yield start, part
        start += len(part)


def _runs(text: str, characters: int) -> Iterator[str]:
    first: int | None = None
    last = 0
    for span in split_sentences(text):
        if first is not None and span.end - first > characters:
            yield text[first:last]
            first = None
        first = span.start if first is None else first
        last = span.end
    if first is not None:
        yield text[first:last]


def passages_of(messages: Sequence[Message], chunker: Chunker) -> list[Passage]:
    """The messages as the chunks that the product would make of them, in order."""
    return [
        Passage(place, message, chunk.text, start + chunk.start)
        for place, message in enumerate(messages)
        for start, part in placed_parts(message)
        for chunk in chunker.chunk(part)
    ]


def default_chunker(embedder: Embedder) -> Chunker:
    """The product's chunker as it is by default: whole sentences, as many as the embedder reads."""
    return Chunker(embedder.count_tokens, embedder.max_tokens)


def said(passage: Passage) -> str:
    """A passage behind the name of who said it, where somebody did."""
    message = passage.message
    return f"{message.name}: {passage.text}" if message.name and message.role != "document" else passage.text


def places_of(passages: Sequence[Passage]) -> tuple[int, ...]:
    """Each place once, in the order of its first passage."""
    return tuple(dict.fromkeys(passage.place for passage in passages))


def said_by(passage: Passage, now: datetime) -> bool:
    """Whether it was said by then; what has no time was."""
    return passage.message.timestamp is None or passage.message.timestamp <= now


def beginnings(embedder: Embedder, texts: Sequence[str]) -> list[str]:
    """Of texts that a model wrote, whose length nobody knows, as much of each as the embedder reads."""
    return [
        text if size <= embedder.max_tokens else default_chunker(embedder).chunk(text)[0].text
        for text, size in zip(texts, embedder.count_tokens(texts), strict=True)
    ]


def embed_beginnings(embedder: Embedder, texts: Sequence[str]) -> Tensor:
    """Vectors [n, d] on the CPU of texts that a model wrote, each of as much as the embedder reads."""
    if not texts:
        return torch.empty(0, embedder.dimension)
    return embedder.embed(beginnings(embedder, texts)).cpu()
