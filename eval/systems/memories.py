"""A memory of the product on one sample: made from the run's parts, fed, searched and weighed.

What no key of its configuration takes out is taken out here: without the graph nothing is read for facts; without the
curator every statement stays a fact beside the others, and none ends, corrects or outweighs another; without a gate
the surprise model is not asked, so that its time is not spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.caches.cached_time import KeptTime
from eval.caches.extraction_cache import KeptExtractions, schema_of
from eval.harness.contract import Cost, Passage, Session, Shared
from eval.harness.fakes import IndifferentSurpriseModel
from eval.harness.metered_engine import MeteredEngine
from eval.metrics import evidence_places
from eval.systems.costs import Meter, uncounted
from eval.systems.documents import UNDATED, placed_parts
from eval.systems.files import folder_bytes
from eval.systems.options import merged
from eval.systems.partial_tasks import Tasks, WithoutConflicts, WithoutFacts, without_conflicts
from nscma_torch import Memory, load_config
from nscma_torch.core.config import (
    AnswerConfig,
    Config,
    ControllerConfig,
    LlmConfig,
    RetrievalConfig,
    Section,
    override,
)
from nscma_torch.core.errors import ConfigError, JobError
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Hit, Message, UnitKind
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.relations import open_schema
from nscma_torch.semantic.timeline.curation import Curator
from nscma_torch.text.files.documents import BLOCK_CHARS

USER = "reader"  # who asks, unless a system says who
RUN = "conversation"  # whose stream the messages are, and which the controller goes on with
_AT_ONCE = 1 << 30  # messages of one integration, where the hierarchy is built once


class MemoryOptions(Section):
    """Options of every system that is a memory of the product."""

    config: dict[str, Any] = Field({}, description="Sections of a nscma_torch configuration, over those of the run.")
    user: str = Field(USER, min_length=1, description='Who asks: "I" in a question is the speaker of this name.')
    graph: bool = Field(True, description="Whether facts are read out of what was said.")
    curator: bool = Field(True, description="Whether newer facts archive older ones; else all stay active.")
    notes: bool = Field(True, description="Whether facts.units keeps atomic_fact, which only that kind searches for.")
    working_memory: bool = Field(
        False, description="Of kind nscma: whether the questions go on with the conversation that was read."
    )
    flush_every: int = Field(
        0, ge=0, description="Messages after which the background work is done: CAM online; 0 for once, at the end."
    )
    rebuild: bool = Field(False, description="Whether the hierarchy is built once of everything: CAM offline.")
    section_chars: int = Field(
        BLOCK_CHARS, ge=0, description="Most characters of a part that a long document is cut into; 0 leaves it whole."
    )


@dataclass(frozen=True)
class Setup:
    """How memories of one system are made; see `setup_of`."""

    options: MemoryOptions
    config: Config
    llm: LlmConfig

    @property
    def storing(self) -> Setup:
        """What of it the store depends on: not how it is asked. Systems that store alike share a store."""
        asking = {"retrieval": RetrievalConfig(), "answer": AnswerConfig(), "controller": ControllerConfig()}
        return replace(self, config=self.config.model_copy(update=asking))


def setup_of(options: MemoryOptions, shared: Shared, below: Mapping[str, Any]) -> Setup:
    """The configuration of a system's memories: its own sections over those of the run, over those of its kind.

    Raises `ConfigError` for an unknown key, or where a language model is configured and the run has none.
    """
    config = load_config(merged(merged(below, shared.config), options.config))
    if shared.engine is None and config.llm.engine != "embedded":
        raise ConfigError(f"llm.engine = {config.llm.engine!r} is configured, and the run has started no engine")
    hierarchy = config.hierarchy
    if options.rebuild:
        if not hierarchy.enabled:
            raise ConfigError("rebuild builds the hierarchy, and hierarchy.enabled = false; leave one of them out")
        hierarchy = override(hierarchy, {"enabled": False, "batch_size": _AT_ONCE})
    made = [unit for unit in config.facts.units if options.notes or unit != "atomic_fact"]
    facts = override(config.facts, {"units": made})
    engineless = config.model_copy(update={"llm": LlmConfig(), "hierarchy": hierarchy, "facts": facts})
    in_config = ("config", "notes")
    own = MemoryOptions(**{key: getattr(options, key) for key in MemoryOptions.model_fields if key not in in_config})
    return Setup(own, engineless, config.llm)


def tasks_of(setup: Setup, shared: Shared, engine: LanguageEngine | None) -> Tasks:
    """The language tasks of a memory, by the run's engine where it has one."""
    config = setup.config
    relations = schema_of(config.facts.relations)
    tasks: Tasks
    if engine is None:
        tasks = KeptExtractions(shared.extractions, shared.time, config)
    else:
        tasks = PromptedTasks(
            engine,
            relations=open_schema(relations) if config.facts.predicates == "open" else relations,
            max_tokens=setup.llm.max_tokens,
            temperature=setup.llm.temperature,
            summary_words=config.hierarchy.summary_words,
            words=config.answer.words,
        )
    if not setup.options.graph:
        return WithoutFacts(tasks)
    return tasks if setup.options.curator else WithoutConflicts(tasks)


@dataclass(frozen=True)
class Stored:
    """A sample as a memory's file holds it.

    Attributes:
        place: of the message that each episode is of, or is a part of; `start`: characters of the message before it.
        newest: the latest time that a message has said.
        spent: calls and tokens that reading took; `seconds`: all of its stages, cold.
        size: bytes of the files.
    """

    folder: Path
    messages: Sequence[Message]
    place: Mapping[str, int]
    start: Mapping[str, int]
    newest: datetime
    spent: Cost
    seconds: float
    size: int


class Remembered:
    """A memory with the messages of one sample.

    Attributes:
        memory: open.
        engine: counts what the memory asks of the run's engine; None without one.
        newest: the latest time that a message has said.
        stored: what has been read; None before.
        user: who said the messages and asks.
    """

    def __init__(
        self,
        memory: Memory,
        options: MemoryOptions,
        engine: MeteredEngine | None,
        folder: Path,
        time: KeptTime,
        stored: Stored | None = None,
    ) -> None:
        self.memory = memory
        self.engine = engine
        self.newest = UNDATED if stored is None else stored.newest
        self.stored = stored
        self.user = options.user
        self._options = options
        self._folder = folder
        self._time = time
        self._messages: Sequence[Message] = () if stored is None else stored.messages
        self._place: dict[str, int] = {} if stored is None else dict(stored.place)
        self._start: dict[str, int] = {} if stored is None else dict(stored.start)
        self._places: evidence_places.Places | None = None

    def read(self, messages: Sequence[Message]) -> Cost:
        """Store the messages in order, and have the background work done.

        A memory that has read them for another system costs as much once more.

        Raises `JobError` where some of that failed.
        """
        if self.stored is not None:
            assert messages is self._messages, "a memory holds one sample"
            self._time.spare(self.stored.seconds)
            return self.stored.spent
        meter, before = Meter(self.engine), self._time.spared
        self._messages = messages
        waiting = 0
        for some in self._batches():
            with meter.stage("ingest"):
                self._add(some)
            waiting += len(some)
            if 0 < self._options.flush_every <= waiting:
                self._flush(meter)
                waiting = 0
        self._flush(meter)
        if self._options.rebuild:
            with meter.stage("flush"):
                self.memory.rebuild(user_id=self.user)
            self._flush(meter)
        cost = meter.cost()
        seconds = sum(cost.seconds.values()) + self._time.spared - before
        spent, size = replace(cost, seconds={}), folder_bytes(self._folder)
        self.stored = Stored(self._folder, messages, self._place, self._start, self.newest, spent, seconds, size)
        return cost

    def _batches(self) -> Iterator[list[tuple[int, int, Message]]]:
        most = self.memory.config.limits.max_batch
        if self._options.flush_every:
            most = min(most, self._options.flush_every)
        cut = (
            (place, start, replace(message, content=part, idempotency_key=None))
            for place, message in enumerate(self._messages)
            for start, part in placed_parts(message, self._options.section_chars)
        )
        while some := list(islice(cut, most)):
            yield some

    def _add(self, some: Sequence[tuple[int, int, Message]]) -> None:
        said = (message.timestamp for *_, message in some if message.timestamp is not None)
        self.newest = max(self.newest, *said, self.newest)
        added = self.memory.add([message for *_, message in some], user_id=self.user, run_id=RUN, now=self.newest)
        for (place, start, _), item in zip(some, added, strict=True):
            self._place[item.id], self._start[item.id] = place, start

    def _flush(self, meter: Meter) -> None:
        with meter.stage("flush"):
            self.memory.flush()
        if failures := self.memory.stats().failures:
            raise JobError(f"background work failed: {failures[0]}")

    def places(self, hits: Sequence[Hit]) -> tuple[int, ...]:
        """Places of the messages behind hits, in their order."""
        sources = (source for hit in hits for source in hit.unit.episode_ids)
        return tuple(dict.fromkeys(self._place[source] for source in sources))

    def ranked(self, question: str, hits: Sequence[Hit], embedder: Embedder) -> tuple[int, ...]:
        """As `places`, but a summary counts as a place for each unit below it, the nearest first."""
        if all(hit.unit.kind != "summary" for hit in hits):
            return self.places(hits)
        if self._places is None:
            self._places = evidence_places.read(self.memory, self.user, self._place, whole=True)
        order = self._places.ranked(hits, embedder.embed_query(question).cpu(), lambda text: embedder.embed([text])[0])
        return tuple(order)

    def searched(
        self,
        question: str,
        now: datetime,
        shared: Shared,
        most: int,
        *,
        kinds: Sequence[UnitKind] | None = None,
        strategy: str | None = None,
    ) -> tuple[int, ...]:
        """Places of so many results of a search, as `ranked`, for measures alone: nothing that it takes is counted."""
        if not most:
            return ()
        with uncounted(shared.time):
            hits = self.memory.search(question, user_id=self.user, top_k=most, kinds=kinds, strategy=strategy, now=now)
            return self.ranked(question, hits, shared.embedder)

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        """Hits for a reader. What many messages are behind stands at the place of the first, and nobody said it."""
        return [
            Passage(self._place[first], self._said(hit), hit.text, self._start[first] + hit.unit.start)
            for hit in hits
            for first in hit.unit.episode_ids[:1]
        ]

    def _said(self, hit: Hit) -> Message:
        if hit.unit.kind == "summary":
            return Message("document", hit.text, hit.occurred_at)
        return self._messages[self._place[hit.unit.episode_ids[0]]]

    def store_bytes(self) -> int:
        """Of the database's files when all was read."""
        assert self.stored is not None, "nothing was read"
        return self.stored.size


@contextmanager
def remembered(setup: Setup, shared: Shared, folder: Path, stored: Stored | None = None) -> Iterator[Remembered]:
    """An empty memory in a folder, or what an equal one has stored."""
    engine = None if shared.engine is None else MeteredEngine(shared.engine)
    folder, config = folder if stored is None else stored.folder, setup.config
    unheard = config.gate.rule == "everything" and config.chunker.strategy != "surprise"
    surprise_model = IndifferentSurpriseModel() if unheard else shared.surprise_model
    tasks = tasks_of(setup, shared, engine)
    store = folder / "memory.db"
    with Memory(store, config=config, embedder=shared.embedder, surprise_model=surprise_model, tasks=tasks) as memory:
        own = memory.components
        if not setup.options.curator:
            own.curator = Curator(own.database, without_conflicts(own.relations), config.curator)
        yield Remembered(memory, setup.options, engine, folder, shared.time, stored)


class MemorySystem:
    """A system with a memory of one setup for each sample; `options` are its own.

    Asking leaves no trace that an answer could show, so the store that a system which stores alike has made of the
    sample at hand is opened again by this one.
    """

    def __init__(
        self, name: str, options: Section, setup: Setup, shared: Shared, session: Callable[[Remembered], Session]
    ) -> None:
        self.name = name
        self.options = options
        self.setup = setup
        self._shared = shared
        self._session = session

    @contextmanager
    def open(self, folder: Path) -> Iterator[Session]:
        """A session with a memory that is empty, or has read the sample at hand."""
        storing = self.setup.storing
        known: Stored | None = self._shared.at_hand.find(storing)
        with remembered(self.setup, self._shared, folder, known) as own:
            yield self._session(own)
            if known is None and own.stored is not None:
                self._shared.at_hand.keep(storing, own.stored)
