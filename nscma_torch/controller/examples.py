"""Few-shot examples: earlier exchanges whose reply was called helpful, those most like what is said now.

They are the episodic memory of an agent (notes on memory types: "in practice, episodic memory is implemented as
few-shot example prompting"). Nothing is stored for them: question, reply and evidence are read where they stand, so an
example goes with any message behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Episode, Hit, Scope
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log import history, turns
from nscma_torch.episodic.log.turns import CITED
from nscma_torch.text.embedders.query_vector import query_vector

_MOST_CITED = 3  # memories that an example shows


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the reply to it, and the messages that this cites; `sources` are the ids of them all."""

    question: str
    reply: str
    cited: tuple[Hit, ...]
    sources: tuple[str, ...]


def examples(
    memory: Memory, scope: Scope, said: str, *, now: datetime, most: int, least: float, in_view: frozenset[str]
) -> tuple[Example, ...]:
    """The exchanges whose question is most like what is said, best first; what is `in_view` (ids) is no example.

    Args:
        least: cosine below which an exchange is none.
    """
    parts, user, at = memory.components, scope.user_id, to_micros(now)
    with parts.database.read(user) as connection:
        replies = history.helpful_replies(connection, scope, at)
        asked = turns.asked_before(connection, replies, at)
        chunks = units.active_chunks(connection, sorted(set(asked.values())))
        vectors = packed_vectors.vectors_of(connection, [seq for own in chunks.values() for seq in own])
        found = turns.load(connection, user, sorted({*asked, *asked.values()}))
    if not vectors:
        return ()
    wanted = query_vector(parts.embedder, said).cpu().numpy()
    alike: dict[int, float] = {}
    for reply, turn in asked.items():
        own = [float(np.dot(vectors[seq], wanted)) for seq in chunks.get(turn, ()) if seq in vectors]
        if own and max(own) >= least and found[reply].id not in in_view:
            alike[reply] = max(own)
    best = sorted(alike, key=lambda reply: (-alike[reply], -reply))[:most]
    return tuple(_example(memory, user, found[asked[reply]], found[reply], now) for reply in best)


def _example(memory: Memory, user: str, turn: Episode, reply: Episode, now: datetime) -> Example:
    named = reply.metadata.get(CITED)
    ids = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    cited = [memory.get(one, user_id=user, now=now) for one in ids[:_MOST_CITED]]
    hits = tuple(Hit(unit_of(episode), 1.0) for episode in cited if episode is not None)
    return Example(turn.text, reply.text, hits, (turn.id, reply.id, *(hit.id for hit in hits)))
