"""The effects of a user's messages on similar ones, read from the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import torch
from sqlalchemy import Connection
from torch.nn.functional import normalize

from nscma_torch.core.database.database import Database
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.episodic.log import episodes
from nscma_torch.standing import effects
from nscma_torch.standing.effect_reader import EffectReader, Pair
from nscma_torch.standing.effects import NewEffect
from nscma_torch.standing.likely_pairs import LikelyPairs
from nscma_torch.standing.neighbours import SimilarUnits, neighbours


class MessageEffects:
    """Reads how messages bear on their neighbours.

    Args:
        similar: finds the chunks most similar to vectors.
        k: number of similar messages to compare each with.
        likely: chooses the pairs to compare, by their vectors; without it, all are compared.
    """

    def __init__(
        self, database: Database, reader: EffectReader, similar: SimilarUnits, k: int, likely: LikelyPairs | None = None
    ) -> None:
        self._database = database
        self._reader = reader
        self._similar = similar
        self._k = k
        self._likely = likely

    def read(self, user_id: str, seqs: Sequence[int]) -> list[NewEffect]:
        """Return the effects between a user's messages (by row number) and the messages similar to each."""
        known: dict[int, Episode] = {}
        with self._database.read(user_id) as connection:

            def said(wanted: Collection[int]) -> Mapping[int, Episode]:
                if missing := sorted(set(wanted) - known.keys()):
                    known.update(episodes.by_seqs(connection, user_id, missing))
                return {seq: known[seq] for seq in wanted if seq in known}

            found: list[NewEffect] = []
            agents = {seq: episode.scope.agent_id for seq, episode in said(seqs).items()}
            for agent in sorted(set(agents.values()), key=lambda name: name or ""):
                own = [seq for seq in seqs if agents.get(seq) == agent and seq in agents]
                near = neighbours(connection, self._similar, Scope(user_id, agent), self._k)
                likely, ended = partial(self._worth_reading, connection), partial(effects.ended, connection)
                found += self._reader.read(own, said, near, likely, ended)
        return found

    def _worth_reading(self, connection: Connection, pairs: Collection[Pair]) -> Collection[Pair]:
        if self._likely is None:
            return pairs
        chunks = units.active_chunks(connection, sorted({seq for pair in pairs for seq in pair}))
        stored = packed_vectors.vectors_of(connection, [unit for own in chunks.values() for unit in own])
        vectors = {
            seq: normalize(torch.stack([torch.from_numpy(stored[unit].copy()) for unit in own]).float().mean(0), dim=0)
            for seq, own in chunks.items()
            if all(unit in stored for unit in own)
        }
        known = [pair for pair in pairs if pair[0] in vectors and pair[1] in vectors]
        if not known:
            return pairs
        earlier, later = (torch.stack([vectors[pair[side]] for pair in known]) for side in (0, 1))
        kept = self._likely.likely(earlier, later).tolist()
        unlikely = {pair for pair, worth in zip(known, kept, strict=True) if not worth}
        return [pair for pair in pairs if pair not in unlikely]
