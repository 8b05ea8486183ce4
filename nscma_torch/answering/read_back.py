"""Ask a memory a question as `Memory.ask` does without facts: search once, then read the hits once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from nscma_torch.answering.reader_qa import ReaderQA
from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Evidence, Scope
from nscma_torch.reading.confidence import ANSWERABLE, confidence
from nscma_torch.reading.reader import ReadSpan
from nscma_torch.search.retriever import Retriever
from nscma_torch.search.search_bounds import Bounds

_MORE = 4  # spare hits, replacing excluded ones


class SearchAndRead:
    """A `ReadBack` for one store; it reads `reading.passages` hits."""

    def __init__(self, retriever: Retriever, reader: ReaderQA, settings: ReadingConfig) -> None:
        self._retriever = retriever
        self._reader = reader
        self._settings = settings

    def __call__(
        self, query: str, *, asker: str, scope: Scope, now: datetime, without: Collection[str]
    ) -> Evidence | None:
        """Return the most likely answer, which lies in the message or is its author's name; see `ReadBack`."""
        bounds = Bounds(Scope(scope.user_id, scope.agent_id), now, kinds=("chunk",))
        found = self._retriever.retrieve(query, bounds, top_k=self._settings.passages + _MORE)
        hits = [hit for hit in found.hits if hit.id not in without][: self._settings.passages]
        read = self._reader.read(query, hits, user_id=scope.user_id, now=now, asked=asker)
        if not read.result.spans:
            return None
        best = _newest(read.result.spans, self._settings.as_good)
        start, end = (best.start, best.end) if best.of_text else (0, 0)
        answerable = confidence(read.features(None), ANSWERABLE)
        return Evidence(read.hits[best.passage], best.text, start, end, answerable)


def _newest(spans: Sequence[ReadSpan], as_good: float) -> ReadSpan:
    """Return the best span, or the part of it that the newest message repeats about as likely."""
    best = spans[0]
    same = [s for s in spans if s.text.casefold() in best.text.casefold() and s.share >= as_good * best.share]
    return max(same, key=lambda span: span.passage)


def read_back(retriever: Retriever, reader: ReaderQA | None, settings: ReadingConfig) -> SearchAndRead:
    """Create the `ReadBack` for a store. Raises `ConfigError` if no reader is configured."""
    if reader is None:
        raise ConfigError('question_pairs.enabled needs a reader: set reading.model = "bundled"')
    return SearchAndRead(retriever, reader, settings)
