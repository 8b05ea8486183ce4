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
from nscma_torch.curator.derivation import Due
from nscma_torch.curator.pair_filter import PairFilter
from nscma_torch.protocols import QuestionTasks
from nscma_torch.records import Episode, SourcedLine, Unit
from nscma_torch.storage import derived_texts, namespaces
from nscma_torch.storage.database import Database
from nscma_torch.storage.derived_sources import said_in
from nscma_torch.storage.derived_texts import NewText, Part
from nscma_torch.storage.derived_vectors import vectors_by_part
from nscma_torch.storage.streams import derive_id, stream_id_of
from nscma_torch.storage.turns import ECHO
from nscma_torch.storage.units import unit_of


class QuestionPairs:
    """Derives pairs."""

    def __init__(
        self, database: Database, tasks: QuestionTasks, filter_: PairFilter, settings: QuestionPairsSection
    ) -> None:
        self._database = database
        self._tasks = tasks
        self._filter = filter_
        self._settings = settings

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """One part for each sitting whose messages are not those of the last time."""
        sittings: dict[str, dict[int, Episode]] = {}
        for one in said_in(connection, namespace, now, roles=("user", "assistant")):
            if not one.episode.metadata.get(ECHO):
                sittings.setdefault(_sitting(unit_of(one.episode)), {})[one.seq] = one.episode
        runs = derived_texts.runs(connection, namespace, "qa_pair")
        parts = []
        for part, said in sittings.items():
            basis = derive_id("pairs", *(text for episode in said.values() for text in (episode.id, episode.text)))
            last = runs.get(part)
            if last is None or last.basis != basis:
                units = tuple(unit_of(episode) for episode in said.values())
                rows = {episode.id: seq for seq, episode in said.items()}
                parts.append(Due(Part(namespace, "qa_pair", part), basis, (units,), rows))
        return parts

    def write(self, groups: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
        """The pairs of each sitting that pass the filter; near duplicates of what earlier ones hold are dropped."""
        known = self._known(groups)
        found = []
        for group, pairs in zip(groups, self._tasks.pairs(groups), strict=True):
            kept = self._filter.kept(group, pairs, known)
            known += [one.vector for one in kept]
            found.append([one.line for one in kept])
        return found

    def chosen(self, lines: Sequence[NewText]) -> Sequence[NewText]:
        """The surest, in the order in which they were asked."""
        surest = sorted(range(len(lines)), key=lambda i: (-lines[i].confidence, i))[: self._settings.most]
        return [lines[i] for i in sorted(surest)]

    def _known(self, groups: Sequence[Sequence[Unit]]) -> list[Tensor]:
        """The vectors of the pairs of all other sittings."""
        scope, mined = groups[0][0].scope, {_sitting(group[0]) for group in groups}
        with self._database.read() as connection:
            namespace = namespaces.namespace_id(scope.user_id, scope.agent_id)
            stored = vectors_by_part(connection, namespace, "qa_pair")
        return [torch.from_numpy(vector.copy()) for part, vector in stored if part not in mined]


def _sitting(unit: Unit) -> str:
    """The part that a message belongs to."""
    return derive_id("sitting", stream_id_of(unit.scope), unit.session or unit.occurred_at.date())
