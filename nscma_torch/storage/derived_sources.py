"""The messages that texts are derived from: live ones of a namespace that are to stay, with their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from nscma_torch.records import Episode
from nscma_torch.storage import episodes as log
from nscma_torch.storage import namespaces, packed_vectors, units
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.schema import episodes, streams
from nscma_torch.storage.turns import load


@dataclass(frozen=True, slots=True)
class Said:
    """A message with its row number, and the mean vector [d] of its chunks; None where none is embedded."""

    seq: int
    episode: Episode
    vector: np.ndarray[Any, np.dtype[np.float32]] | None = None


def said_in(connection: Connection, namespace: str, now: datetime, *, roles: Sequence[str]) -> list[Said]:
    """What was said in conversations of a namespace by `now`, in these roles, in the order it came.

    Left out is what is to expire: a derived text would outlive it.
    """
    scope, at, c = namespaces.owner(connection, namespace), to_micros(now), episodes.c
    own = c.agent_id.is_(None) if scope.agent_id is None else c.agent_id == scope.agent_id
    query = (
        select(c.seq)
        .join(streams, streams.c.id == c.stream_id)
        .where(c.user_id == scope.user_id, own, c.expires_at.is_(None), log.live(), streams.c.source.is_(None))
        .where(c.role.in_(roles))
        .order_by(c.seq)
    )
    seqs = list(connection.execute(query).scalars())
    found = load(connection, scope.user_id, seqs)
    of_chunks = units.active_chunks(connection, seqs)
    vectors = packed_vectors.vectors_of(connection, [seq for own_seqs in of_chunks.values() for seq in own_seqs])
    said = []
    for seq in seqs:
        own_vectors = [vectors[chunk] for chunk in of_chunks.get(seq, ()) if chunk in vectors]
        mean = np.mean(own_vectors, axis=0) if own_vectors else None
        if to_micros(found[seq].occurred_at) <= at:
            said.append(Said(seq, found[seq], mean))
    return said
