"""Build the derivers that sleep runs, as configured, from a memory's components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import (
    InsightTasks,
    LanguageTasks,
    PortraitTasks,
    QuestionTasks,
    ReflectionTasks,
    SummaryTasks,
)
from nscma_torch.core.records import Scope

if TYPE_CHECKING:
    from nscma_torch.api.components import Components
    from nscma_torch.curator.derivation import Deriver
    from nscma_torch.curator.store.derived_sources import Source


def derivers(parts: Components) -> Iterator[Deriver]:
    """Yield the derivers of each kind of text in dependency order.

    Raises `ConfigError` for language tasks that lack what a key switches on.
    """
    config = parts.config
    if config.insights.enabled:
        from nscma_torch.curator.insights import Insights

        if not isinstance(parts.tasks, InsightTasks):
            raise lacking("insights.enabled", parts.tasks, InsightTasks)
        yield Insights(parts.tasks, config.insights, parts.device)
    if config.daily.summaries:
        yield from _summaries(parts)
    if config.daily.portrait:
        yield from _portrait(parts)
    if config.reflection.enabled:
        from nscma_torch.curator.reflections import ROLES, Reflections

        if not isinstance(parts.tasks, ReflectionTasks):
            raise lacking("reflection.enabled", parts.tasks, ReflectionTasks)
        yield Reflections(parts.tasks, _recall(parts, ROLES), config.reflection, parts.rate)
    if config.question_pairs.enabled:
        yield _question_pairs(parts)
    if "document_summary" in config.facts.units:
        from nscma_torch.curator.document_summaries import DocumentSummaries

        yield DocumentSummaries(parts.tasks)


def _summaries(parts: Components) -> Iterator[Deriver]:
    from nscma_torch.curator.each_day import EachDay
    from nscma_torch.curator.over_days import OverDays

    tasks, settings = parts.tasks, parts.config.daily
    if not isinstance(tasks, SummaryTasks):
        raise lacking("daily.summaries", tasks, SummaryTasks)
    yield EachDay("daily_summary", partial(tasks.daily_summaries, words=settings.words), roles=("user", "assistant"))
    yield OverDays("global_summary", "daily_summary", partial(tasks.global_summaries, words=settings.global_words))


def _portrait(parts: Components) -> Iterator[Deriver]:
    from nscma_torch.curator.each_day import EachDay
    from nscma_torch.curator.over_days import OverDays

    tasks, settings = parts.tasks, parts.config.daily
    if not isinstance(tasks, PortraitTasks):
        raise lacking("daily.portrait", tasks, PortraitTasks)
    yield EachDay("daily_insight", tasks.daily_insights, roles=("user",), apart=True)
    yield OverDays("portrait", "daily_insight", partial(tasks.portraits, words=settings.global_words))


def _recall(parts: Components, roles: Sequence[str]) -> Callable[[str, Scope, datetime], list[Source]]:
    """Return a function that searches messages in these roles, and reflections, with the configured search."""
    from nscma_torch.curator.store import derived_sources
    from nscma_torch.search.search_bounds import Bounds
    from nscma_torch.semantic.store import namespaces

    def recall(question: str, scope: Scope, now: datetime) -> list[Source]:
        bounds = Bounds(scope, now, kinds=("chunk", "reflection"))
        hits = parts.retriever.retrieve(question, bounds, top_k=parts.config.reflection.memories).hits
        namespace = namespaces.namespace_id(scope.user_id, scope.agent_id)
        with parts.database.read(scope.user_id) as connection:
            return derived_sources.behind(connection, namespace, [hit.unit.id for hit in hits], roles=roles)

    return recall


def _question_pairs(parts: Components) -> Deriver:
    """Return the deriver that mines question-answer pairs and checks each with the trained reader."""
    from nscma_torch.answering.read_back import SearchAndRead
    from nscma_torch.curator.pair_filter import PairFilter
    from nscma_torch.curator.question_pairs import QuestionPairs

    tasks, settings = parts.tasks, parts.config.question_pairs
    if not isinstance(tasks, QuestionTasks):
        raise lacking("question_pairs.enabled", tasks, QuestionTasks)
    if parts.reader_qa is None:
        raise ConfigError('question_pairs.enabled needs a reader: set reading.model = "bundled"')
    read_back = SearchAndRead(parts.retriever, parts.reader_qa, parts.config.reading.passages)
    return QuestionPairs(parts.database, tasks, PairFilter(read_back, lambda: parts.embedder, settings), settings)


def lacking(key: str, tasks: LanguageTasks, needed: type) -> ConfigError:
    """Build the error for custom language tasks that lack the protocol a key needs."""
    return ConfigError(
        f"{key} needs language tasks with what nscma_torch.core.protocols.{needed.__name__} names, which "
        f"{type(tasks).__name__} lacks: set the key to false, or implement it"
    )
