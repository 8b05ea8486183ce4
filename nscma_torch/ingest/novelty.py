"""Measure how similar a message is to earlier messages in its stream, and how much news it adds to similar ones.

d is the embedder's dimension. A message is compared with those in the repetition window (`repetition_window.py`); a
message of several chunks uses the normalised mean of their vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.core.erasable_cache import erasable_cache
from nscma_torch.episodic.index import packed_vectors
from nscma_torch.reading.restatement import Wording, joined, news, unheard, wording
from nscma_torch.text.sentences import split_sentences

NEAR = 0.6  # minimum cosine of an earlier message for comparing words; messages about different things have less
COMPARED = 8  # maximum number of earlier messages to compare by words, nearest first
MUCH = 10.0  # news that is not counted further
DECIMALS = 4  # of a cosine; those beyond depend on which texts were embedded side by side


def message_vectors(owners: Sequence[int], chunks: Tensor, n: int) -> Tensor:
    """Return unit vectors [n, d] for messages, from chunk vectors [m, d]; `owners` [m] gives each chunk's message.
    Messages without chunks get zeros.
    """
    sums = chunks.new_zeros(n, chunks.shape[1]).index_add(0, torch.tensor(owners, dtype=torch.long), chunks)
    return torch.nn.functional.normalize(sums, dim=1)


def stored_vectors(connection: Connection, stream_id: str, positions: Sequence[int]) -> Tensor:
    """Return the vectors [n, d] for the messages at these ascending positions in a stream; zeros for missing ones.

    If no message has a vector, d is 1.
    """
    places = {position: row for row, position in enumerate(positions)}
    stored = packed_vectors.vectors_from(connection, stream_id, positions[0]) if positions else []
    owners = [places[position] for position, _ in stored if position in places]
    if not owners:
        return torch.zeros(len(positions), 1)
    read = bytearray(b"".join(vector for position, vector in stored if position in places))
    chunks = torch.frombuffer(read, dtype=torch.float32).reshape(len(owners), -1)
    return message_vectors(owners, chunks, len(positions))


def followed(past: Tensor, new: Tensor) -> Tensor:
    """Concatenate past vectors [n, d] (or zeros of any width) and new ones [m, d] into [n + m, d]."""
    return torch.cat([past if past.any() else new.new_zeros(len(past), new.shape[1]), new])


class Novelty:
    """The vectors of a stream's recent messages, extended one by one with those from the current call.

    Args:
        past: vectors [n, d] of the messages before the call, oldest first; zeros, with any d, for missing ones.
        new: vectors [m, d] of the messages in the call, in order.
    """

    def __init__(self, past: Tensor, new: Tensor) -> None:
        self._vectors = followed(past, new)
        self._next = len(past)

    def score(self, text: str, history: Sequence[str]) -> tuple[float, float | None]:
        """Compare the next message with `history`, the last messages before it, oldest first.

        Returns:
            The cosine to the nearest message (0 if there is none), and the least news relative to the near messages
                (`news` in reading/restatement.py, sentence by sentence), at most `MUCH`, or None if no message is near.
        """
        at, self._next = self._next, self._next + 1
        if not history:
            return 0.0, None
        cosines = self._vectors[at - len(history) : at] @ self._vectors[at]
        best, places = cosines.topk(min(COMPARED, len(history)))
        near = [history[place] for place, cosine in zip(places.tolist(), best.tolist(), strict=True) if cosine >= NEAR]
        return round(float(best[0]), DECIMALS), _least_news(text, near) if near else None


def _least_news(text: str, near: Sequence[str]) -> float:
    """Sum, over sentences, the least news relative to any one or two consecutive sentences in a near message.

    It works sentence by sentence, because the pooled words of a long message would form facts that it never stated.
    News relative to all near messages together is counted first, since a long message usually has enough of it.
    """
    together = joined([wording(other) for other in near])
    sentences = wordings(text)[0]
    if sum(unheard(sentence, together) for sentence in sentences) >= MUCH:
        return MUCH
    known = [part for other in near for part in wordings(other)[1]]
    total = 0.0
    for sentence in sentences:
        total += min(news(sentence, old) for old in known)
        if total >= MUCH:
            return MUCH
    return total


@erasable_cache(1 << 10)  # a message is near to many later ones
def wordings(text: str) -> tuple[Sequence[Wording], Sequence[Wording]]:
    """Return the wording of each sentence in a text, and the wordings of each one and two consecutive sentences."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)] or [text]
    alone = [wording(sentence) for sentence in sentences]
    return alone, [*alone, *(wording(f"{first} {second}") for first, second in pairwise(sentences))]
