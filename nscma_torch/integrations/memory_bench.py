"""`Memory` as a provider of the open agent-memory-benchmark (vectorize-io/agent-memory-benchmark, `MemoryProvider`).

Register the class there under a name, or derive one of it and of their `MemoryProvider`; this module imports nothing of
theirs, and `eval.run --system` takes it too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import Config
from nscma_torch.core.errors import StoreClosedError
from nscma_torch.core.records import Answer, Hit, Message
from nscma_torch.text.calendar.timestamps import format_day, parse_timestamp

_DOCUMENT = "document_id"  # metadata of a message: the document that it is of
_NOBODY = "benchmark"  # the user of documents that name none
_FILE = "nscma.db"


@dataclass
class Found:
    """A document that was found, with the fields that the benchmark's own have."""

    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, Any]] | None = None
    timestamp: str | None = None
    context: str | None = None


class NscmaMemoryProvider:
    """One store for all documents; each `user_id` is a user of it.

    A document's turns are messages: its `messages`, else its `content` where that is a JSON list of turns (`role`,
    `speaker` or `name`, and `content` or `text`), else the content as one message. Documents that are ingested again
    are not stored twice.

    Args:
        config: of the memory, as `Memory` takes it.
    """

    name = "nscma"
    description = "Surprise-gated episodes, a temporal graph of facts and a hierarchy in one file; no language model."
    kind = "local"
    provider = None
    variant = None
    link = None
    logo = None
    concurrency = 4

    def __init__(self, config: Config | str | Path | Mapping[str, Any] | None = None) -> None:
        self._config = config
        self._memory: Memory | None = None

    def initialize(self) -> None:
        """Nothing: models are loaded when they are first used."""

    def prepare(self, store_dir: Path, unit_ids: Set[str] | None = None, reset: bool = True) -> None:  # noqa: ARG002
        """Open the store in a folder, which is emptied of an earlier one with `reset`."""
        self.cleanup()
        if reset:
            for old in store_dir.glob(f"{_FILE}*"):
                old.unlink()
        self._memory = Memory(store_dir / _FILE, config=self._config)

    def ingest(self, documents: list[Any]) -> None:
        """Store documents and have them read. Raises an error of the memory's for what it cannot store."""
        memory = self._opened()
        users = list(dict.fromkeys(document.user_id or _NOBODY for document in documents))
        for user_id in users:
            own = [document for document in documents if (document.user_id or _NOBODY) == user_id]
            for _ in memory.add_many((message for document in own for message in _messages(document)), user_id=user_id):
                pass
        memory.flush()

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Found], dict[str, Any]]:
        """The `k` messages that fit best, best first, under the ids of their documents, with their scores."""
        user = user_id or _NOBODY
        hits = self._opened().search(query, user_id=user, top_k=k, now=_time(query_timestamp))
        return [_found(hit, user_id) for hit in hits], {"scores": [hit.score for hit in hits]}

    def direct_answer(
        self, query: str, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[str, str, dict[str, Any]]:
        """The memory's own answer, with the passages that it rests on, and its confidence."""
        answer: Answer = self._opened().ask(query, user_id=user_id or _NOBODY, now=_time(query_timestamp))
        context = "\n".join(_found(one.hit, user_id).content for one in answer.evidence)
        return answer.short, context, {"confidence": answer.confidence, "abstained": answer.abstained}

    def cleanup(self) -> None:
        """Close the store."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _opened(self) -> Memory:
        if self._memory is None:
            raise StoreClosedError("the provider has no store; call prepare(store_dir) first")
        return self._memory


def _messages(document: Any) -> Iterator[Message]:
    turns = document.messages or _listed(document.content) or [{"role": "user", "content": document.content}]
    said = None if document.timestamp is None else parse_timestamp(document.timestamp)
    for number, turn in enumerate(turns):
        text = str(turn.get("content") or turn.get("text") or "")
        if text.strip():
            stamp = turn.get("timestamp")
            yield Message(
                turn.get("role") or "user",
                text,
                said if stamp is None else parse_timestamp(stamp),
                name=turn.get("name") or turn.get("speaker"),
                session=document.id,
                metadata={_DOCUMENT: document.id},
                idempotency_key=f"{document.id} {number}",
            )


def _listed(content: str) -> list[dict[str, Any]] | None:
    """The turns that a content lists as JSON; None where it is other text."""
    if not content.lstrip().startswith("["):
        return None
    try:
        found = json.loads(content)
    except ValueError:
        return None
    if not all(isinstance(turn, dict) and ("content" in turn or "text" in turn) for turn in found):
        return None
    return list(found)


def _time(stamp: str | None) -> datetime | None:
    return None if stamp is None else parse_timestamp(stamp)


def _found(hit: Hit, user_id: str | None) -> Found:
    unit = hit.unit
    who = unit.name or unit.role
    text = f"{who}, {format_day(unit.occurred_at.date())}: {unit.text}"
    return Found(str(unit.metadata.get(_DOCUMENT, hit.id)), text, user_id, timestamp=unit.occurred_at.isoformat())
