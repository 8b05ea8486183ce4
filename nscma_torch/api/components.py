"""Makes the parts of a memory from its configuration, each on first use, and hands them to each other.

A part's module is imported when the part is made, so that a command which only reads rows does not load torch.
"""

from __future__ import annotations

import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nscma_torch.api.unread_messages import PendingReader
from nscma_torch.core import forking as _forking  # noqa: F401 - importing it registers a handler
from nscma_torch.core.config import Config
from nscma_torch.core.database.opening import open_database
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.jobs.worker import Handler, Worker
from nscma_torch.core.locked_property import locked_cached_property
from nscma_torch.core.protocols import Embedder, LanguageTasks, ReadBack, RecordTasks, SurpriseModel, required
from nscma_torch.curator.statistics import Process
from nscma_torch.episodic.log.backlog import EXTRACT, RESTATE
from nscma_torch.hierarchy.store.hierarchies import INTEGRATE
from nscma_torch.ingest.stages import Stages
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.reading.relations import Schema, load_relations, open_schema
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.semantic.store.statements import CURATE

if TYPE_CHECKING:
    import torch

    from nscma_torch.answering.fact_qa import FactQA
    from nscma_torch.answering.reader_qa import ReaderQA
    from nscma_torch.api.background import BackgroundWorker
    from nscma_torch.core.records import Scope, Unit, UnitKind
    from nscma_torch.curator.derived.derivations import Derivations
    from nscma_torch.curator.sleep import Sleeper
    from nscma_torch.extraction.read_ahead import ReadMany
    from nscma_torch.features.records.describing import Describer
    from nscma_torch.features.skills.skills import Skills
    from nscma_torch.hierarchy.integrator import Integrator
    from nscma_torch.ingest.indexer import Indexer
    from nscma_torch.ingest.writer import Writer
    from nscma_torch.maintenance.edits import Editor
    from nscma_torch.maintenance.eraser import Eraser
    from nscma_torch.reading.descriptions import Descriptions
    from nscma_torch.reading.embedded_tasks import EmbeddedTasks
    from nscma_torch.reading.fact_changes import FactChanges
    from nscma_torch.reading.question_network import QuestionNetwork
    from nscma_torch.reading.question_pairs import AdjacentPairs
    from nscma_torch.reading.questions import QuestionReader
    from nscma_torch.reading.reader import Reader
    from nscma_torch.search.context import Reranker
    from nscma_torch.search.retriever import Retriever
    from nscma_torch.search.search import Searcher
    from nscma_torch.semantic.graph.fact_graphs import FactGraphs
    from nscma_torch.semantic.timeline.adviser import Adviser
    from nscma_torch.semantic.timeline.curation import Curator
    from nscma_torch.surprise.gate import MessageGate
    from nscma_torch.surprise.salience_head import SalienceHead


_ALWAYS_THERE = ("auto", "cpu")  # names of devices that are right on every machine


class Components:
    """Database and models of one memory, and what is built on them.

    Args:
        store: the database file, or postgresql://….
        embedder, surprise_model, tasks: stand in for the configured ones.

    Attributes:
        read_many: reads messages of many users together, ahead of their jobs; set before `worker` is first asked for.
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
        self.config = config
        self.build_lock = threading.RLock()
        if config.device not in _ALWAYS_THERE:  # what torch has no device for is said before the file is opened
            _ = self.device
        self.database = open_database(store, config.store)
        self.stages = Stages()
        self.tally: Counter[str] = Counter()
        self._embedder = embedder
        self._surprise_model = surprise_model
        self._tasks = tasks
        self.read_many: ReadMany | None = None

    @locked_cached_property
    def device(self) -> torch.device:
        """Device of models, indexes and graphs."""
        from nscma_torch.core.device import torch_device

        return torch_device(self.config.device)

    @locked_cached_property
    def new_embedder(self) -> Embedder:
        """The configured embedder, whatever the store's vectors come from."""
        from nscma_torch.text.embedders.embedder import load_embedder

        return self._embedder or load_embedder(self.config.embedder, self.device)

    @locked_cached_property
    def embedder(self) -> Embedder:
        """The configured embedder; `EmbedderMismatchError` where the store's vectors come from another one."""
        from nscma_torch.maintenance.reembed import check_fingerprint

        check_fingerprint(self.database, self.new_embedder)
        return self.new_embedder

    @locked_cached_property
    def surprise_model(self) -> SurpriseModel:
        """The model whose surprise the gate weighs."""
        from nscma_torch.api.models import load_surprise_model, serve_surprise_model

        if self._surprise_model is None and self.config.surprise.engine == "llm":
            return serve_surprise_model(self.config, self.engine)
        return self._surprise_model or load_surprise_model(self.config.surprise, self.device)

    @locked_cached_property
    def tasks(self) -> LanguageTasks:
        """The language tasks."""
        if self._tasks is not None:
            return self._tasks
        if self.engine is None:
            return self.embedded_tasks
        from nscma_torch.llm.prompted import PromptedTasks

        least = self.config.reading.instead_of_model
        return PromptedTasks(
            self.engine,
            relations=open_schema(self.relations) if self.config.facts.predicates == "open" else self.relations,
            max_tokens=self.config.llm.max_tokens,
            temperature=self.config.llm.temperature,
            summary_words=self.config.hierarchy.summary_words,
            words=self.config.answer.words,
            tally=self.tally,
            extract_surely=partial(self.embedded_tasks.extract_surely, least=least) if least < 1 else None,
            in_context=self.config.facts.context == "summary",
        )

    @locked_cached_property
    def embedded_tasks(self) -> EmbeddedTasks:
        """The language tasks without a model: the configured ones, or what answers while the model is away."""
        from nscma_torch.reading.embedded_tasks import EmbeddedTasks
        from nscma_torch.reading.read_statements import configured_facts

        words = self.config.hierarchy.summary_words
        return EmbeddedTasks(
            **self.config.answer.model_dump(),
            summary_words=words,
            relations=self.relations,
            read_facts=configured_facts(self.config.reading, self.relations, self.device),
            fact_changes=self._fact_changes,
            question_pairs=self._adjacent_pairs,
            importance=self._importance,
            descriptions=self._descriptions if self.config.records.enabled else None,
        )

    @property
    def _importance(self) -> Callable[[Sequence[str]], Sequence[float]] | None:
        """Salience head: how likely texts are needed later; None if another method, or none, rates importance."""
        if self.config.score.importance == "cues":
            return None
        head = self.salience_head
        if head is None:
            return None
        return lambda texts: [1 / (1 + math.exp(-odds)) for odds in head.log_odds(self.embedder.embed(texts))]

    def _descriptions(self) -> Descriptions:
        """Describes messages without a language model, from the bundled embedder's vectors."""
        from nscma_torch.core.config import EmbedderConfig
        from nscma_torch.reading.descriptions import Descriptions
        from nscma_torch.reading.memory_types import MemoryTypes
        from nscma_torch.reading.sentiment import analyzer
        from nscma_torch.text.embedders.embedder import load_embedder

        analyzer()  # where its package is missing, this says so
        types = MemoryTypes.load()
        own = self.embedder
        if own.fingerprint != types.embedder:
            own = load_embedder(EmbedderConfig(dtype=self.config.embedder.dtype), self.device)
        reader = None if self.config.reading.model == "none" else self._reader
        return Descriptions(types, own, reader, self.relations)

    @property
    def _describer(self) -> Describer | None:
        """Makes structured records; None if they are switched off."""
        if not self.config.records.enabled:
            return None
        from nscma_torch.features.records.describing import Describer

        return Describer(required(self.tasks, RecordTasks, "records.enabled"))

    @property
    def _fact_changes(self) -> FactChanges | None:
        """Chooses operations on facts without a language model; None if no reader is configured."""
        from nscma_torch.reading.fact_changes import FactChanges

        if self.config.reading.model == "none":
            return None
        return FactChanges(self._reader, self.config.curator.change)

    @property
    def _adjacent_pairs(self) -> AdjacentPairs | None:
        """Finds question-answer pairs without a language model; None if no reader is configured."""
        from nscma_torch.reading.question_pairs import AdjacentPairs

        return None if self.config.reading.model == "none" else AdjacentPairs(self._reader)

    def _reader(self) -> Reader:
        """The trained reader that is configured."""
        from nscma_torch.reading.reader import shared_reader
        from nscma_torch.text.embedders.embedder import precision

        section = self.config.reading
        weights = None if section.model == "bundled" else Path(section.model)
        return shared_reader(weights, self.device, precision(section.dtype, self.device))

    @locked_cached_property
    def engine(self) -> LazyEngine | None:
        """The configured language engine, which starts when it is first asked; None for the embedded tasks."""
        return choose_engine(self.config.llm, lambda: self.device)

    @property
    def process(self) -> Process:
        """Counters of this process, for `stats`."""
        name = "embedded" if self.engine is None else self.engine.name
        language = name if self._tasks is None else type(self._tasks).__name__
        return Process(self.stages.seconds, language, self.tally)

    @locked_cached_property
    def relations(self) -> Schema:
        """The relation schema."""
        path = self.config.facts.relations
        return load_relations(None if path == "bundled" else path)

    @locked_cached_property
    def gate(self) -> MessageGate:
        """The gate with the configured rules."""
        from nscma_torch.surprise.gate import MessageGate

        return MessageGate(self.config.gate, self.salience_head)

    @locked_cached_property
    def salience_head(self) -> SalienceHead | None:
        """The gate's learned head; None where the embedder is not the one whose vectors it reads."""
        from nscma_torch.surprise.salience_head import SalienceHead

        head = SalienceHead.load()
        return head if head.embedder == self.embedder.fingerprint else None

    @locked_cached_property
    def indexer(self) -> Indexer:
        """Chunks, embeds and analyses texts."""
        from nscma_torch.ingest.chunking import configured_chunker
        from nscma_torch.ingest.indexer import Indexer

        chunker = configured_chunker(self.config.chunker, self.embedder, lambda: self.surprise_model)
        return Indexer(self.embedder, chunker, self.stages)

    @locked_cached_property
    def writer(self) -> Writer:
        """The write path."""
        from nscma_torch.ingest.writer import Writer
        from nscma_torch.surprise.language_models.vllm_model import VllmSurpriseModel

        deferred = self.config.embedder.deferred
        return Writer(
            self.database,
            self.indexer,
            self.surprise_model,
            self.gate,
            self.stages,
            embed_deferred=deferred,
            served=isinstance(self.surprise_model, VllmSurpriseModel),
        )

    @locked_cached_property
    def editor(self) -> Editor:
        """Update, delete, restore."""
        from nscma_torch.maintenance.edits import Editor

        return Editor(self.database, self.indexer, integrate=self.config.hierarchy.enabled, reach=self._reach)

    @locked_cached_property
    def eraser(self) -> Eraser:
        """Real deletion."""
        from nscma_torch.maintenance.eraser import Eraser
        from nscma_torch.surprise.gate import MessageGate
        from nscma_torch.surprise.language_models.vllm_model import VllmSurpriseModel

        gate = MessageGate(self.config.gate)  # what the head said is kept, so that erasing needs no embedder
        return Eraser(
            self.database,
            self.surprise_model,
            gate,
            served=isinstance(self.surprise_model, VllmSurpriseModel),
            reach=self._reach,
        )

    @property
    def _reach(self) -> int:
        """Messages before one that it will be read with: all, where a summary of its conversation is beside it."""
        return sys.maxsize if self.config.facts.context == "summary" else TURNS_BEFORE

    @locked_cached_property
    def searcher(self) -> Searcher:
        """Hybrid search."""
        from nscma_torch.core.protocols import QueryEmbedder
        from nscma_torch.search.search import Searcher
        from nscma_torch.text.embedders.shared_queries import SharedQueries

        embedder = self.embedder
        if isinstance(embedder, QueryEmbedder):
            embedder = SharedQueries(embedder, most=self.config.embedder.batch_size)
        return Searcher(self.database, embedder, self.config, self.device)

    @locked_cached_property
    def fact_graphs(self) -> FactGraphs:
        """The graphs of facts."""
        from nscma_torch.semantic.graph.fact_graphs import FactGraphs

        return FactGraphs(self.relations, lambda: self.device)

    @locked_cached_property
    def retriever(self) -> Retriever:
        """Retrieval strategies."""
        from nscma_torch.search.retriever import Retriever

        section = self.config.retrieval
        reranker = (lambda: self.reranker) if section.reranker else None
        graphs, tasks = (lambda: self.fact_graphs), (lambda: self.tasks)
        return Retriever(self.searcher, self.database, graphs, tasks, section, reranker)

    @locked_cached_property
    def reranker(self) -> Reranker:
        """The configured reranker: the trained reader, or a cross-encoder."""
        name = self.config.retrieval.reranker
        if name == "reader":
            if self.reader_qa is None:
                raise ConfigError('retrieval.reranker = "reader" needs a reader; set reading.model = "bundled"')
            return self.reader_qa.relevance
        from nscma_torch.text.embedders.cross_encoder import CrossEncoder

        encoder = CrossEncoder(name, self.device)
        return lambda question, hits, _: encoder.score(question, [hit.text for hit in hits])

    @locked_cached_property
    def questions(self) -> QuestionReader:
        """Parser of questions about facts."""
        from nscma_torch.reading.questions import QuestionReader

        return QuestionReader(self.relations, self._question_network)

    def _question_network(self) -> QuestionNetwork:
        """The bundled network that reads English questions."""
        from nscma_torch.reading.question_network import shared_network

        return shared_network(self.relations, self.device)

    @locked_cached_property
    def fact_qa(self) -> FactQA:
        """Answers from facts."""
        from nscma_torch.answering.fact_qa import FactQA

        return FactQA(self.database, self.relations, self.fact_graphs, self.questions)

    @locked_cached_property
    def reader_qa(self) -> ReaderQA | None:
        """Short answers by the trained reader; None where none is configured."""
        section = self.config.reading
        if section.model == "none":
            return None
        from nscma_torch.answering.reader_qa import ReaderQA
        from nscma_torch.answering.subject_veto import SubjectVeto

        return ReaderQA(self.database, self._reader(), section, SubjectVeto(self._facts_reader, self.relations))

    def _facts_reader(self) -> Reader:
        """The reader that was trained on facts, of those that are configured; else the one that answers."""
        from nscma_torch.reading.read_statements import configured_reader

        return configured_reader(self.config.reading, self.device) or self._reader()

    @locked_cached_property
    def curator(self) -> Curator:
        """Keeps facts in step with what was said."""
        from nscma_torch.semantic.timeline.curation import Curator

        return Curator(
            self.database, self.relations, self.config.curator, adviser=self._adviser, units=lambda: self.indexer
        )

    @property
    def _adviser(self) -> Adviser | None:
        """Asks the language tasks about new statements; None if no rule needs it."""
        from nscma_torch.core.protocols import FactTasks
        from nscma_torch.semantic.timeline.adviser import Adviser

        settings = self.config.curator
        if not settings.asks_model:
            return None
        if not isinstance(self.tasks, FactTasks):
            raise ConfigError(
                f'curator.rule and curator.opposites = "model" ask the language tasks to `operate` on facts, which '
                f"{type(self.tasks).__name__} does not; give it that method, or set both to their defaults"
            )
        tasks = self.tasks
        return Adviser(lambda: tasks, self._judge, lambda: self.embedder, self.relations, settings)

    @locked_cached_property
    def sleeper(self) -> Sleeper:
        """Tidies the memory."""
        from nscma_torch.curator.sleep import Sleeper

        return Sleeper(
            self.database,
            self.curator,
            self.relations,
            self.config.curator,
            self.worker.run_pending,
            derivations=self.derivations,
            tasks=self.tasks,
            judge=self._judge,
        )

    @locked_cached_property
    def derivations(self) -> Derivations:
        """Derivations that sleep makes from messages, those that are switched on."""
        from nscma_torch.curator.derived.derivations import Derivations, derivers
        from nscma_torch.curator.derived.deriver import Needs

        needs = Needs(
            self.config,
            self.database,
            self.tasks,
            device=lambda: self.device,
            embedder=lambda: self.embedder,
            rate=self.rate,
            search=self._found,
            read_back=self._read_back,
        )
        return Derivations(self.database, lambda: self.indexer, derivers(needs))

    def _found(self, question: str, scope: Scope, now: datetime, kinds: tuple[UnitKind, ...], top_k: int) -> list[str]:
        """Ids of the units that the configured search finds."""
        from nscma_torch.search.search_bounds import Bounds

        hits = self.retriever.retrieve(question, Bounds(scope, now, kinds=kinds), top_k=top_k).hits
        return [hit.unit.id for hit in hits]

    def _read_back(self) -> ReadBack:
        """Asks the memory a question, with the trained reader."""
        from nscma_torch.answering.read_back import SearchAndRead

        if self.reader_qa is None:
            raise ConfigError('question_pairs.enabled needs a reader: set reading.model = "bundled"')
        return SearchAndRead(self.retriever, self.reader_qa, self.config.reading.passages)

    def _judge(self) -> str:
        """Name of the judge of disputes, the same in every process; `sleep` records it to ask each judge once."""
        if self._tasks is not None:
            return type(self._tasks).__name__
        return "embedded" if self.engine is None else self.engine.configured

    @property
    def _notes(self) -> Literal["none", "beside", "alone"]:
        """Storage of atomic facts: as notes if a model decides on them, alone if nothing reads other statements."""
        made = self.config.facts.units
        if self.config.curator.rule != "model" or "atomic_fact" not in made:
            return "none"
        return "beside" if "triple" in made or self.config.facts.answer else "alone"

    @locked_cached_property
    def skills(self) -> Skills:
        """Procedural memory."""
        from nscma_torch.features.skills.skills import Skills

        return Skills(self.database, self.embedder, self.indexer)

    @locked_cached_property
    def worker(self) -> Worker:
        """Runs background jobs."""
        from nscma_torch.extraction.extraction import Extractor
        from nscma_torch.extraction.recheck_repeats import RepeatRecheck

        section, hierarchy = self.config.worker, self.config.hierarchy
        made = self.config.facts.units
        extractor = Extractor(
            self.database,
            self.indexer,
            self.tasks,
            self.relations,
            made=made,
            integrate=hierarchy.enabled,
            notes=self._notes,
            predicates=self.config.facts.predicates,
            rate=self.rate,
            describer=self._describer,
            conversation=self.config.facts.context_messages if self.config.facts.context == "summary" else 0,
            read_many=self.read_many,
            batch_size=section.batch_size,
        )
        return Worker(
            self.database,
            {
                EXTRACT: Handler(
                    extractor.run,
                    section.batch_size,
                    language=True,
                    gather=None if self.read_many is None else extractor.gather,
                ),
                RESTATE: Handler(RepeatRecheck(self.database).run, 1, stage=1),
                CURATE: Handler(
                    self.curator.run, section.batch_size, separable=False, language=self.config.curator.asks_model
                ),
                INTEGRATE: Handler(
                    self.integrator.run,
                    hierarchy.batch_size,
                    separable=False,
                    stage=2,
                    language=True,
                    cut=True,
                    gather=self.integrator.gather,
                ),
            },
            recall_kind=EXTRACT,
            max_attempts=section.max_attempts,
            lease_seconds=section.lease,
        )

    @property
    def rate(self) -> Callable[[Sequence[Unit]], list[int]] | None:
        """Rates the importance of messages; None if the gate's cues are used."""
        from nscma_torch.core.protocols import ImportanceTasks

        if self.config.score.importance == "cues":
            return None
        if not isinstance(self.tasks, ImportanceTasks):
            raise ConfigError(
                f'score.importance = "model" asks the language tasks to `rate` messages, which '
                f"{type(self.tasks).__name__} does not; give it that method, or set it to 'cues'"
            )
        return self.tasks.rate

    def background(
        self, *, queue_recalls: Callable[[], None] = lambda: None, notify: Callable[[str], None] = lambda _: None
    ) -> BackgroundWorker:
        """A worker beside the application, not yet started."""
        from nscma_torch.api.background import BackgroundWorker

        return BackgroundWorker(
            self.database,
            lambda: self.worker,
            lambda: self.sleeper,
            self.config.worker,
            queue_recalls=queue_recalls,
            notify=notify,
        )

    @locked_cached_property
    def settling(self) -> PendingReader:
        """Work that a question waits for."""
        from nscma_torch.reading.embedded_tasks import EmbeddedTasks

        return PendingReader(
            self.database,
            lambda: self.worker,
            seconds=self.config.retrieval.settle_seconds,
            reads=lambda: isinstance(self.tasks, EmbeddedTasks),
            decides=lambda: not self.config.curator.asks_model or isinstance(self.tasks, EmbeddedTasks),
        )

    def forget(self, user_id: str) -> None:
        """Let go of what searching and answering keep of a user in this process."""
        made = vars(self)
        if "searcher" in made:
            self.searcher.forget(user_id)
        if "fact_graphs" in made:
            self.fact_graphs.forget(user_id)

    def close(self) -> None:
        """Let go of the language engine and close the file."""
        try:
            if self.engine is not None:
                self.engine.close()
        finally:
            self.database.close()

    @locked_cached_property
    def integrator(self) -> Integrator:
        """Brings what was extracted into the hierarchy."""
        from nscma_torch.hierarchy.integrator import Integrator

        return Integrator(self.database, self.indexer, self.tasks, self.config.hierarchy, self.device)
