"""Create the parts of a memory from its configuration, each when first used, and connect them.

A part's module is imported when the part is created, so a command that only reads rows doesn't load torch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nscma_torch.api.configured_models import Models
from nscma_torch.api.unread_messages import PendingReader
from nscma_torch.api.validation import checked_message
from nscma_torch.core import forking as _forking  # noqa: F401 - importing it registers a handler
from nscma_torch.core.capabilities import capability, installed
from nscma_torch.core.config import Config
from nscma_torch.core.database.opening import open_database
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.jobs.worker import Worker
from nscma_torch.core.locked_property import locked_cached_property
from nscma_torch.core.optional_parts import SkillStore
from nscma_torch.core.protocols import Embedder, LanguageTasks, SurpriseModel
from nscma_torch.core.records import Message, Scope
from nscma_torch.curator.statistics import Process
from nscma_torch.episodic.log import episodes
from nscma_torch.episodic.log.recalls import Recalls, count_leased
from nscma_torch.ingest.stages import Stages
from nscma_torch.reading.turns_before import messages_before
from nscma_torch.text.messages import CheckedMessage

if TYPE_CHECKING:
    from torch import Tensor

    from nscma_torch.answering.fact_qa import FactQA
    from nscma_torch.answering.reader_qa import ReaderQA
    from nscma_torch.api.background import BackgroundWorker
    from nscma_torch.api.forget_requests import ForgetFollower
    from nscma_torch.curator.derived.derivations import Derivations
    from nscma_torch.curator.sleep import Sleeper
    from nscma_torch.extraction.read_ahead import ReadMany
    from nscma_torch.hierarchy.integrator import Integrator
    from nscma_torch.ingest.indexer import Indexer
    from nscma_torch.ingest.writer import Writer
    from nscma_torch.maintenance.edits import Editor
    from nscma_torch.maintenance.eraser import Eraser
    from nscma_torch.reading.questions import QuestionReader
    from nscma_torch.search.context import Reranker
    from nscma_torch.search.retriever import Retriever
    from nscma_torch.search.search import Searcher
    from nscma_torch.semantic.graph.fact_graphs import FactGraphs
    from nscma_torch.semantic.timeline.curation import Curator
    from nscma_torch.standing.message_effects import MessageEffects


_log = logging.getLogger("nscma")


class Components(Models):
    """The database and models for one memory, and the parts built on them.

    Args:
        store: the database file, or postgresql://….
        embedder, surprise_model, tasks: used instead of the configured ones.

    Attributes:
        read_many: reads many users' messages together, before their jobs run; must be set before the first use of
            `worker`.
    """

    def __init__(
        self,
        store: str | Path,
        config: Config,
        *,
        embedder: Embedder | None = None,
        surprise_model: SurpriseModel | None = None,
        tasks: LanguageTasks | None = None,
    ) -> None:
        super().__init__(
            config, embedder=embedder, surprise_model=surprise_model, tasks=tasks, check=self._check_fingerprint
        )
        self.database = open_database(store, config.store)
        if self.telemetry is not None:
            self.telemetry.name_store(self.database.name)
        self.stages = Stages()
        self.read_many: ReadMany | None = None

    def _check_fingerprint(self, embedder: Embedder) -> None:
        from nscma_torch.maintenance.reembed import check_fingerprint

        check_fingerprint(self.database, embedder)

    def checked(self, message: Message, now: datetime) -> CheckedMessage:
        """Validate a message for storage, and mask what may not be stored; errors as in `checked_message`."""
        return checked_message(message, self.config.limits, now, self.redactor)

    @property
    def process(self) -> Process:
        """Return this process's counters, for `stats`."""
        return Process(self.stages.seconds, self.language, self.tally)

    @locked_cached_property
    def indexer(self) -> Indexer:
        """Return the part that chunks, embeds and analyses texts."""
        from nscma_torch.ingest.configured_chunker import configured_chunker
        from nscma_torch.ingest.indexer import Indexer

        chunker = configured_chunker(self.config.chunker, self.embedder, lambda: self.surprise_model)
        return Indexer(self.embedder, chunker, self.stages)

    @locked_cached_property
    def writer(self) -> Writer:
        """Return the write path."""
        from nscma_torch.ingest.quotas import Quotas
        from nscma_torch.ingest.writer import Writer

        return Writer(
            self.database,
            self.indexer,
            self.surprise_model,
            self.gate,
            self.stages,
            embed_deferred=self.config.embedder.deferred,
            served=self.surprise_is_served,
            quotas=Quotas(self.config.limits),
        )

    @locked_cached_property
    def editor(self) -> Editor:
        """Return the part that updates, deletes and restores messages."""
        from nscma_torch.maintenance.edits import Editor

        return Editor(
            self.database,
            self.indexer,
            integrate=self.config.hierarchy.enabled,
            reach=messages_before(self.config.facts.context),
        )

    @locked_cached_property
    def eraser(self) -> Eraser:
        """Return the part that deletes data permanently."""
        from nscma_torch.maintenance.eraser import Eraser
        from nscma_torch.surprise.gate import MessageGate

        gate = MessageGate(self.config.gate)  # what the head said is kept, so that erasing needs no embedder
        return Eraser(
            self.database,
            self.surprise_model,
            gate,
            served=self.surprise_is_served,
            reach=messages_before(self.config.facts.context),
        )

    @locked_cached_property
    def searcher(self) -> Searcher:
        """Return the part for hybrid search."""
        from nscma_torch.search.search import Searcher
        from nscma_torch.text.embedders.question_encoder import question_embedder
        from nscma_torch.text.embedders.shared_queries import sharing

        section = self.config.embedder
        embedder = sharing(self.embedder, section.batch_size)
        trained = question_embedder(self.embedder, section, self.device)
        questions = None if trained is None else sharing(trained, section.batch_size)
        return Searcher(self.database, embedder, self.config, self.device, questions)

    @locked_cached_property
    def fact_graphs(self) -> FactGraphs:
        """Return the part that builds graphs from facts."""
        from nscma_torch.semantic.graph.fact_graphs import FactGraphs

        return FactGraphs(self.relations, lambda: self.device)

    @locked_cached_property
    def retriever(self) -> Retriever:
        """Return the part that runs the retrieval strategies."""
        from nscma_torch.search.retriever import Retriever

        section = self.config.retrieval
        reranker = (lambda: self.reranker) if section.reranker else None
        graphs, tasks = (lambda: self.fact_graphs), (lambda: self.tasks)
        return Retriever(self.searcher, self.database, graphs, tasks, section, reranker)

    @locked_cached_property
    def reranker(self) -> Reranker:
        """Return the configured reranker: the trained reader, or a cross-encoder."""
        from nscma_torch.search.rerankers import configured_reranker

        relevance = lambda: None if self.reader_qa is None else self.reader_qa.relevance  # noqa: E731
        return configured_reranker(self.config.retrieval.reranker, relevance, lambda: self.device)

    @locked_cached_property
    def questions(self) -> QuestionReader:
        """Return the parser for questions about facts."""
        from nscma_torch.reading.questions import QuestionReader

        return QuestionReader(self.relations, self.readers.question_network)

    @locked_cached_property
    def fact_qa(self) -> FactQA:
        """Return the part that answers from facts."""
        from nscma_torch.answering.fact_qa import FactQA

        return FactQA(self.database, self.relations, self.fact_graphs, self.questions)

    @locked_cached_property
    def reader_qa(self) -> ReaderQA | None:
        """Return the part that gives short answers with the trained reader, or None if no reader is configured."""
        from nscma_torch.answering.reader_qa import configured_reader_qa
        from nscma_torch.text.embedders.query_vector import query_vector

        def embed(text: str) -> Tensor:
            return query_vector(self.embedder, text)

        return configured_reader_qa(self.database, self.config.reading, self.readers, self.relations, embed)

    @locked_cached_property
    def curator(self) -> Curator:
        """Return the curator, which keeps facts up to date."""
        from nscma_torch.semantic.timeline.adviser import configured_adviser
        from nscma_torch.semantic.timeline.curation import Curator

        settings, relations = self.config.curator, self.relations
        tasks = self.tasks if settings.asks_model else None
        adviser = configured_adviser(settings, tasks, self.judge, lambda: self.embedder, relations)
        return Curator(self.database, relations, settings, adviser=adviser, units=lambda: self.indexer)

    @locked_cached_property
    def sleeper(self) -> Sleeper:
        """Return the sleeper, which maintains the memory."""
        from nscma_torch.curator.sleep import Sleeper

        return Sleeper(
            self.database,
            self.curator,
            self.relations,
            self.config.curator,
            self.worker.run_pending,
            derivations=self.derivations,
            tasks=self.tasks,
            judge=self.judge,
            retain=self.retain if self.config.retention.days else None,
        )

    def retain(self, user_ids: Sequence[str], now: datetime, *, dry_run: bool) -> int:
        """Erase the users' messages that `retention.days` no longer allows; return their number."""
        from nscma_torch.maintenance import retention

        days, count = self.config.retention.days, 0
        for user_id in user_ids:
            with self.database.read(user_id) as connection:
                ids = retention.due(connection, user_id, days, now)
            if not dry_run:
                ids = self._erased(user_id, ids)
            count += len(ids)
        if not dry_run:
            self.eraser.finish()
        return count

    def _erased(self, user_id: str, ids: list[str]) -> list[str]:
        """Erase those of a user's messages that no other process has erased meanwhile; return them."""
        while ids:
            self.forget(user_id)
            for one in ids:
                self.recalls.forget(user_id, one)
            try:
                self.eraser.episodes(user_id, ids)
                _log.info("erased %d messages of user %s by retention.days", len(ids), user_id)
                break
            except NotFoundError:
                with self.database.read(user_id) as connection:
                    ids = [one for one in ids if episodes.find(connection, user_id, one) is not None]
            finally:
                self.forget(user_id)  # data read by a search meanwhile
        return ids

    @locked_cached_property
    def derivations(self) -> Derivations:
        """Return the enabled derivations of texts during sleep."""
        from nscma_torch.answering.read_back import read_back
        from nscma_torch.curator.derived.derivations import Derivations, derivers
        from nscma_torch.curator.derived.deriver import DeriverContext
        from nscma_torch.extraction.ratings import configured_rate

        needs = DeriverContext(
            self.config,
            self.database,
            self.tasks,
            device=lambda: self.device,
            embedder=lambda: self.embedder,
            rate=configured_rate(self.config.score.importance, self.tasks),
            search=lambda *asked: self.retriever.ids(*asked),
            read_back=lambda: read_back(self.retriever, self.reader_qa, self.config.reading),
        )
        return Derivations(self.database, lambda: self.indexer, derivers(needs))

    @locked_cached_property
    def skills(self) -> SkillStore:
        """Return the store for skills (procedural memory). Raises `ConfigError` if skills are not installed."""
        found: SkillStore = capability("skills").build(self.database, self.embedder, self.indexer)
        return found

    @locked_cached_property
    def worker(self) -> Worker:
        """Return the worker that runs background jobs."""
        from nscma_torch.extraction.extraction import Extractor
        from nscma_torch.extraction.job_handlers import job_handlers, kept_notes
        from nscma_torch.extraction.ratings import configured_rate

        config, facts, records = self.config, self.config.facts, installed("records")
        extractor = Extractor(
            self.database,
            self.indexer,
            self.tasks,
            self.relations,
            made=facts.units,
            integrate=config.hierarchy.enabled,
            notes=kept_notes(config),
            predicates=facts.predicates,
            rate=configured_rate(config.score.importance, self.tasks),
            records=None if records is None else records.rows,
            record_maker=capability("records").build(self.tasks) if config.enables("records") else None,
            conversation=facts.context_messages if facts.context == "summary" else 0,
            read_many=self.read_many,
            batch_size=config.worker.batch_size,
            effects=self.message_effects,
        )
        return Worker(
            self.database,
            job_handlers(config, self.database, extractor, self.curator, self.integrator),
            count_recalls=partial(count_leased, self.database),
            max_attempts=config.worker.max_attempts,
            lease_seconds=config.worker.lease,
            around=self.around,
        )

    @property
    def message_effects(self) -> MessageEffects | None:
        """Return the part that reads how messages bear on similar ones; None if it is off or there is no reader."""
        from nscma_torch.standing.effect_reader import EffectReader
        from nscma_torch.standing.likely_pairs import LikelyPairs
        from nscma_torch.standing.message_effects import MessageEffects

        section = self.config.standing
        if not section.neighbours or self.config.reading.model == "none":
            return None
        likely = LikelyPairs.load()
        return MessageEffects(
            self.database,
            EffectReader(self.readers.reader, section.effect),
            self._similar,
            section.neighbours,
            likely if likely.embedder == self.embedder.fingerprint else None,
        )

    @locked_cached_property
    def forget_follower(self) -> ForgetFollower | None:
        """Return the part that hides what messages ask to forget; None if it is off or there is no bundled reader."""
        if not self.config.standing.forget_requests or self.config.reading.model != "bundled":
            return None
        from nscma_torch.api.forget_requests import ForgetFollower
        from nscma_torch.reading.forget_requests import ForgetRequests

        requests = ForgetRequests(self.readers.reader, lambda: self.embedder.fingerprint)
        return ForgetFollower(self, self.editor, requests)

    def _similar(self, scope: Scope, vectors: Tensor, k: int) -> Sequence[Sequence[int]]:
        from nscma_torch.search.search_bounds import Bounds

        bounds = Bounds(scope, datetime.max.replace(tzinfo=UTC), kinds=("chunk",), expired=True)
        return self.searcher.recall(vectors, bounds, k).seqs.tolist()

    @locked_cached_property
    def recalls(self) -> Recalls:
        """Return the recalls from this process's searches that aren't queued yet."""
        dated = self.config.score.recency_since == "recalled"
        return Recalls(self.database, timed=dated or self.config.curator.restarts, at_once=dated)

    def background(self, *, notify: Callable[[str], None] = lambda _: None) -> BackgroundWorker:
        """Return a background worker, not yet started."""
        from nscma_torch.api.background import BackgroundWorker

        return BackgroundWorker(
            self.database,
            lambda: self.worker,
            lambda: self.sleeper,
            self.config.worker,
            queue_recalls=self.recalls.queue,
            notify=notify,
            around=self.around,
        )

    @locked_cached_property
    def settling(self) -> PendingReader:
        """Return the part that processes messages before a question."""
        from nscma_torch.reading.embedded_tasks import EmbeddedTasks

        return PendingReader(
            self.database,
            lambda: self.worker,
            seconds=self.config.retrieval.settle_seconds,
            reads=lambda: isinstance(self.tasks, EmbeddedTasks),
            decides=lambda: not self.config.curator.asks_model or isinstance(self.tasks, EmbeddedTasks),
        )

    def forget(self, user_id: str) -> None:
        """Drop a user's data that this process has cached for search and answers."""
        made = vars(self)
        if "searcher" in made:
            self.searcher.forget(user_id)
        if "fact_graphs" in made:
            self.fact_graphs.forget(user_id)

    def close(self) -> None:
        """Close the language engine and the database."""
        try:
            if self.engine is not None:
                self.engine.close()
        finally:
            self.database.close()

    @locked_cached_property
    def integrator(self) -> Integrator:
        """Return the part that adds extracted chunks to the hierarchy."""
        from nscma_torch.hierarchy.integrator import Integrator

        return Integrator(self.database, self.indexer, self.tasks, self.config.hierarchy, self.device)
