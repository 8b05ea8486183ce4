"""Question-answer pairs mined from each sitting of a conversation: the language tasks propose them, then a filter
selects.

This follows the notes on context memory ("mining question-answer pairs from past conversations": pairs are extracted
from the dialogue itself, and low-quality pairs are dropped). A sitting is a session of a conversation, or a day of a
conversation without sessions. It is mined again when one of its messages changes, or when another sitting's pair is
deleted that had made one of its own pairs redundant.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import torch
from sqlalchemy import Connection

from nscma_torch.core.config import QuestionPairsConfig
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import QuestionTasks
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, DuePart, of_messages
from nscma_torch.curator.derived.groups import day_of, sitting_key
from nscma_torch.curator.derived.pair_filter import Checked, Known, PairFilter
from nscma_torch.curator.derived.sourced_texts import Groups, new_text
from nscma_torch.curator.store.derived_sources import Heard, heard
from nscma_torch.curator.store.derived_texts import NewText, Part, text_id
from nscma_torch.curator.store.derived_vectors import text_vectors
from nscma_torch.episodic.log.streams import stream_id_of
from nscma_torch.semantic.store import namespaces

_KIND = "qa_pair"


def deriver(needs: DeriverContext) -> Deriver:
    """Mine pairs as configured in `[question_pairs]`; each pair is checked by asking the memory its question."""
    settings = needs.config.question_pairs
    tasks = needs.tasks_with(QuestionTasks, _KIND)
    return QuestionPairs(needs.database, tasks, PairFilter(needs.read_back(), needs.embedder, settings), settings)


class QuestionPairs:
    """Derives question-answer pairs."""

    def __init__(
        self, database: Database, tasks: QuestionTasks, filter_: PairFilter, settings: QuestionPairsConfig
    ) -> None:
        self._database = database
        self._tasks = tasks
        self._filter = filter_
        self._settings = settings

    in_turn = False

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[DuePart]:
        """Return one part for each sitting whose messages changed since the last run."""
        sittings: dict[str, list[Heard]] = {}
        for one in heard(connection, namespace, now, roles=("user", "assistant")):
            if not one.echo:
                sitting = sitting_key(one.stream_id, one.session, day_of(one))
                sittings.setdefault(sitting, []).append(one)
        return of_messages(connection, namespace, _KIND, sittings)

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write each sitting's pairs that pass the filter; near duplicates refer to the earlier pairs."""
        sittings = [sitting for (sitting,) in parts]
        groups = [[source.unit for source in sitting] for sitting in sittings]
        mined = self._tasks.pairs(groups)
        if len(mined) != len(groups):
            raise JobError(f"pairs was given {len(groups)} sittings and returned {len(mined)} results; correct it")
        scope = groups[0][0].scope
        namespace = namespaces.namespace_id(scope.user_id, scope.agent_id)
        names = [sitting_key(stream_id_of(unit.scope), unit.session, unit.occurred_at.date()) for unit, *_ in groups]
        known = self._known(scope.user_id, namespace, set(names))
        found = []
        for name, sitting, group, pairs in zip(names, sittings, groups, mined, strict=True):
            checked = self._filter.checked(group, pairs, known)
            new = self._surest([one for one in checked if not one.said_by])
            part = Part(namespace, _KIND, name)
            known += [Known(text_id(part, number), one.vector) for number, one in enumerate(new)]
            repeated = [one for one in checked if one.said_by]
            found.append([new_text(one.line, sitting)._replace(said_by=one.said_by) for one in (*new, *repeated)])
        return found

    def _surest(self, pairs: Sequence[Checked]) -> list[Checked]:
        """Return the pairs with the highest confidence, in the order asked."""
        surest = sorted(range(len(pairs)), key=lambda i: (-pairs[i].line.confidence, i))[: self._settings.most]
        return [pairs[i] for i in sorted(surest)]

    def _known(self, user_id: str, namespace: str, mined: Collection[str]) -> list[Known]:
        """Return the pairs from all other sittings."""
        with self._database.read(user_id) as connection:
            stored = text_vectors(connection, namespace, _KIND)
        return [Known(one.id, torch.from_numpy(one.vector.copy())) for one in stored if one.part not in mined]
