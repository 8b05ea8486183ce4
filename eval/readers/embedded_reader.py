"""The reader without a language model: a small memory of its own that the passages go into.

Every baseline hands its passages to the run's reader, so that systems differ in what they find, not in how they read.
This one and `PromptedReader` read them in the order they were said, (timestamp, place, start), whatever order they are
given in, and nothing that was said after `now`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from eval.caches.cached_time import KeptTime
from eval.caches.extraction_cache import ExtractionCache, KeptExtractions
from eval.harness.contract import Cost, Keep, Passage, Reply
from eval.harness.fakes import IndifferentSurpriseModel
from eval.readers.option_choice import supported_option
from eval.readers.query_summary import query_summary
from eval.readers.reader_passages import as_said, known, said_at
from nscma_torch import Memory, load_config
from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import Embedder

_MOST_HITS = 10  # that an option of a multiple choice is looked for in
_MOST_LISTS = 1000  # of passages that are kept; about a megabyte each


@dataclass(frozen=True)
class _Read:
    """Passages as a user of the memory; `place` is by the ids of its messages, `seconds` are what it took, cold."""

    user: str
    passages: Sequence[Passage]
    place: Mapping[str, int]
    seconds: float


class EmbeddedReader:
    """Reads without a language model: a memory of the passages is asked, and the reply is its short answer.

    The gate writes everything, there is no hierarchy, and the embedded language tasks read facts and answer. All
    passages are read, however many. Each list of passages is a user of one memory, since what one user says changes
    nothing for another; it is kept for some time, through the sample at most, and counts as read again for each
    question, under the stage "read". A multiple choice is decided by `option_choice`, always, even where the memory
    would rather say that it does not know. A summary is of the passages themselves, by `query_summary`, and asks no
    memory.

    Args:
        sections: of the run's memories: embedder, chunker, retrieval and answer hold here too.
        time: hears of what was not read again.
        extractions: what is known of texts.
    """

    def __init__(
        self, sections: Mapping[str, Any], embedder: Embedder, time: KeptTime, extractions: ExtractionCache
    ) -> None:
        own = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}}
        kept = {key: value for key, value in sections.items() if key not in ("llm", "surprise", *own)}
        self._config = load_config({**kept, **own})
        self._embedder = embedder
        self._time = time
        self._tasks = KeptExtractions(extractions, time, self._config)
        self._memory: Memory | None = None
        self._read: dict[tuple[Any, ...], list[_Read]] = {}  # those alike differ in their messages
        self._lists = 0
        self._summary_words = 0
        self._open = ExitStack()

    def begin(self, summary_words: int) -> None:
        """Until `forget`, reply with summaries of at most so many words; 0 for short answers."""
        self._summary_words = summary_words

    def answer(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        options: Sequence[str],
        now: datetime,
        keep: Keep = "first",  # noqa: ARG002
    ) -> Reply:
        """What the memory of the passages answers; abstains without passages."""
        texts = known(passages, now)
        if not texts:
            return Reply("", abstained=True)
        began = time.perf_counter()
        if self._summary_words and not options:
            told = as_said(texts, now)
            said = [passage.text for passage in told]
            text, members = query_summary(question, said, self._summary_words, self._embedder)
            places = tuple(dict.fromkeys(told[member].place for member in members))
            return Reply(text, False, places, cost=Cost(seconds={"read": time.perf_counter() - began}))
        try:
            read = self._of(as_said(texts, now), now)
        except BaseException:  # what could not be read would be in the way of what comes next
            self._clear()
            raise
        memory = self._opened()
        answer = memory.ask(question, user_id=read.user, now=now)
        evidence = [evidence.hit for evidence in answer.evidence]
        text, abstained = "" if answer.abstained else answer.short, answer.abstained
        if options:
            hits = memory.search(question, user_id=read.user, top_k=_MOST_HITS, now=now)
            shown = [evidence.text for evidence in answer.evidence] or [hit.text for hit in hits]
            text = supported_option(question, options, [text, *shown] if text else shown, self._embedder)
            evidence, abstained = evidence or hits, False
        sources = (source for hit in evidence for source in hit.unit.episode_ids)
        places = tuple(dict.fromkeys(read.place[source] for source in sources))
        cost = Cost(seconds={"read": time.perf_counter() - began})
        return Reply(text, abstained, places, answer.confidence, cost)

    def forget(self) -> None:
        """Let go of all passages, and give short answers again."""
        self._clear()
        self._summary_words = 0

    def _clear(self) -> None:
        self._memory = None
        self._read = {}
        self._lists = 0
        self._open.close()

    def _opened(self) -> Memory:
        if self._memory is None:
            folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="reading-"))
            self._memory = self._open.enter_context(
                Memory(
                    Path(folder) / "passages.db",
                    config=self._config,
                    embedder=self._embedder,
                    surprise_model=IndifferentSurpriseModel(),
                    tasks=self._tasks,
                )
            )
        return self._memory

    def _of(self, passages: Sequence[Passage], now: datetime) -> _Read:
        key = now, *((passage.place, passage.start, passage.text) for passage in passages)
        for read in self._read.get(key, ()):
            if read.passages == passages:
                self._time.spare(read.seconds)
                return read
        if self._lists == _MOST_LISTS:
            self._clear()
        began, before = time.perf_counter(), self._time.spared
        memory = self._opened()
        self._lists += 1
        user = f"reader {self._lists}"
        messages = [
            replace(passage.message, content=passage.text, timestamp=said_at(passage, now), idempotency_key=None)
            for passage in passages
        ]
        added = memory.add(messages, user_id=user, now=now)
        memory.flush()
        if failures := memory.stats(user_id=user).failures:
            raise JobError(f"the passages could not be read: {failures[0]}")
        place = {item.id: passage.place for item, passage in zip(added, passages, strict=True)}
        took = time.perf_counter() - began + self._time.spared - before
        read = _Read(user, passages, place, took)
        self._read.setdefault(key, []).append(read)
        return read
