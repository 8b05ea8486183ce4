"""Find the messages that are most similar to one, to be compared with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from sqlalchemy import Connection, select
from torch import Tensor

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import Scope
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.episodic.log import episodes as log


class SimilarUnits(Protocol):
    """Return for each vector the row numbers of the scope's chunks that are most similar to it."""

    def __call__(self, scope: Scope, vectors: Tensor, k: int) -> Sequence[Sequence[int]]: ...  # vectors: [q, d]


def neighbours(connection: Connection, similar: SimilarUnits, scope: Scope, k: int) -> Callable[[int], Sequence[int]]:
    """Return a function from a message to the `k` most similar ones, all by row number.

    Messages that were said later are only included if they have been read: when they are, they are compared with this
    one.
    """
    found: dict[int, Sequence[int]] = {}

    def near(seq: int) -> Sequence[int]:
        if seq not in found:
            found[seq] = _near(connection, similar, scope, k, seq)
        return found[seq]

    return near


def _near(connection: Connection, similar: SimilarUnits, scope: Scope, k: int, seq: int) -> Sequence[int]:
    vectors = packed_vectors.vectors_of(connection, units.seqs_of_episode(connection, seq, "chunk"))
    if not vectors:
        return ()
    stacked = torch.stack([torch.from_numpy(vector.copy()) for vector in vectors.values()])
    ranked = [unit for own in zip(*similar(scope, stacked, 2 * k), strict=True) for unit in own if unit >= 0]
    sources = units.sources_of(connection, set(ranked))
    order = [other for other in dict.fromkeys(one for unit in ranked for one in sources.get(unit, ())) if other != seq]
    said = {}
    for some in pages([seq, *order]):
        query = select(episodes.c.seq, log.spoken_at(), episodes.c.encoded).where(episodes.c.seq.in_(some))
        said.update({row[0]: (row[1], row[2]) for row in connection.execute(query)})
    own = (said[seq][0], seq)
    return [other for other in order if other in said and (said[other][1] or (said[other][0], other) < own)][:k]
