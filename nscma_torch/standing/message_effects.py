"""The effects of a user's messages on similar ones, read from the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from nscma_torch.core.database.database import Database
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.standing.effect_reader import EffectReader
from nscma_torch.standing.effects import NewEffect
from nscma_torch.standing.neighbours import SimilarUnits, neighbours


class MessageEffects:
    """Reads how messages bear on their neighbours.

    Args:
        similar: finds the chunks most similar to vectors.
        k: number of similar messages to compare each with.
    """

    def __init__(self, database: Database, reader: EffectReader, similar: SimilarUnits, k: int) -> None:
        self._database = database
        self._reader = reader
        self._similar = similar
        self._k = k

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
                found += self._reader.read(own, said, near)
        return found
