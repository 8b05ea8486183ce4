"""Question-answer pairs mined from conversations, sitting by sitting: proposed by the language tasks, then filtered.

As described in the notes on context memory ("mining question-answer pairs from past conversations": pairs are
extracted from the dialogue itself, and those of low quality are dropped). A sitting is a session of a conversation, or
a day of one without sessions; it is mined again when one of its messages changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.config import QuestionPairs as QuestionPairsSection
from nscma_torch.curator.derivation import Due, Groups, of_messages
from nscma_torch.curator.pair_filter import PairFilter
from nscma_torch.curator.sourced_texts import new_text
from nscma_torch.errors import JobError
from nscma_torch.protocols import QuestionTasks
from nscma_torch.records import Unit
from nscma_torch.storage import namespaces
from nscma_torch.storage.clock import from_micros
from nscma_torch.storage.database import Database
from nscma_torch.storage.derived_sources import Heard, heard
from nscma_torch.storage.derived_texts import NewText
from nscma_torch.storage.derived_vectors import vectors_by_part
from nscma_torch.storage.streams import derive_id, stream_id_of


class QuestionPairs:
    """Derives pairs."""

    def __init__(
        self, database: Database, tasks: QuestionTasks, filter_: PairFilter, settings: QuestionPairsSection
    ) -> None:
        self._database = database
        self._tasks = tasks
        self._filter = filter_
        self._settings = settings

    in_turn = False

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """One part for each sitting whose messages are not those of the last time."""
        sittings: dict[str, list[Heard]] = {}
        for one in heard(connection, namespace, now, roles=("user", "assistant")):
            if not one.echo:
                sitting = _sitting(one.stream_id, one.session, from_micros(one.at))
                sittings.setdefault(sitting, []).append(one)
        return of_messages(connection, namespace, "qa_pair", sittings)

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """The pairs of each sitting that pass the filter; near duplicates of what earlier ones hold are dropped."""
        sittings = [sitting for (sitting,) in parts]
        groups = [[source.unit for source in sitting] for sitting in sittings]
        known = self._known(groups)
        found = []
        mined = self._tasks.pairs(groups)
        if len(mined) != len(groups):
            raise JobError(f"pairs was given {len(groups)} sittings and returned {len(mined)} results; correct it")
        for sitting, group, pairs in zip(sittings, groups, mined, strict=True):
            kept = self._filter.kept(group, pairs, known)
            known += [one.vector for one in kept]
            found.append(self._surest([new_text(one.line, sitting) for one in kept]))
        return found

    def _surest(self, texts: Sequence[NewText]) -> list[NewText]:
        """The surest, in the order in which they were asked."""
        surest = sorted(range(len(texts)), key=lambda i: (-texts[i].confidence, i))[: self._settings.most]
        return [texts[i] for i in sorted(surest)]

    def _known(self, groups: Sequence[Sequence[Unit]]) -> list[Tensor]:
        """The vectors of the pairs of all other sittings."""
        scope, first = groups[0][0].scope, [group[0] for group in groups]
        mined = {_sitting(stream_id_of(unit.scope), unit.session, unit.occurred_at) for unit in first}
        with self._database.read() as connection:
            namespace = namespaces.namespace_id(scope.user_id, scope.agent_id)
            stored = vectors_by_part(connection, namespace, "qa_pair")
        return [torch.from_numpy(vector.copy()) for part, vector in stored if part not in mined]


def _sitting(stream_id: str, session: str | None, said: datetime) -> str:
    """The part that a message belongs to."""
    return derive_id("sitting", stream_id, session or said.date())
