"""Language tasks with something left out, for the ablations that no configuration can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

from nscma_torch.core.protocols import LanguageTasks, QuotingTasks, RetrievalTasks
from nscma_torch.core.records import Answer, AskedQuestion, Extraction, Hit, Statement, Unit
from nscma_torch.reading.relations import Schema


class Tasks(LanguageTasks, RetrievalTasks, Protocol):
    """All that the system needs from language."""


class _As:
    """Does everything as the tasks that it is given."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    @property
    def quotes(self) -> bool:
        """As the tasks."""
        return isinstance(self._tasks, QuotingTasks) and self._tasks.quotes

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """As the tasks."""
        return self._tasks.extract(units, listeners=listeners, before=before)

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """As the tasks."""
        return self._tasks.summarize(groups)

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:
        """As the tasks."""
        return self._tasks.answer(question, hits)

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """As the tasks."""
        return self._tasks.rerank(question, hits)

    def refine(self, question: str, hits: Sequence[Hit]) -> str:
        """As the tasks."""
        return self._tasks.refine(question, hits)

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:
        """As the tasks."""
        return self._tasks.select(question, hits)


class WithoutFacts(_As):
    """Reads nothing out of what was said: no triples, no atomic facts, no graph; no language model is asked."""

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        """Nothing."""
        return [Extraction() for _ in zip(units, listeners, strict=True)]


class WithoutConflicts(_As):
    """Reads what was said to hold, and not what it ends, denies or corrects."""

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """As the tasks, without denials; a statement that replaces another one stands beside it."""
        return [
            replace(own, statements=tuple(_alone(said) for said in own.statements if not said.negated and said.object))
            for own in self._tasks.extract(units, listeners=listeners, before=before)
        ]


def _alone(said: Statement) -> Statement:
    return replace(said, replaces="", correction=False)


@cache
def without_conflicts(schema: Schema) -> Schema:
    """The relations, each of which holds any number of objects at a time and is ended by none.

    A curator with this schema archives nothing for what came later: the newer fact is stored beside the older one.
    """
    flat = {
        name: relation.model_copy(update={"cardinality": "many", "opposite": ""})
        for name, relation in schema.relations.items()
    }
    return Schema(relations=flat, kinds=schema.kinds)
