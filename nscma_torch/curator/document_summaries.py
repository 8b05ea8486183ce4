"""Summaries of whole documents: S_q = LLM(D_q, P_S), Structural Memory section 3.1.

A document is a session of a conversation, a day of one without sessions, or the content of a file, by session if it has
some. It is summarized again when one of its messages changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.curator.derivation import Due, Groups, of_messages
from nscma_torch.curator.sourced_texts import written
from nscma_torch.curator.store.derived_sources import Heard, heard
from nscma_torch.curator.store.derived_texts import NewText
from nscma_torch.episodic.log.streams import derive_id


class DocumentSummaries:
    """Derives a summary of each document from all of its messages."""

    in_turn = False

    def __init__(self, tasks: LanguageTasks) -> None:
        self._tasks = tasks

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """Return one part for each document whose messages changed since the last time."""
        documents: dict[str, list[Heard]] = {}
        for one in heard(connection, namespace, now, roles=("user", "assistant")):
            if not one.echo:
                day = from_micros(one.at).date()
                documents.setdefault(derive_id("document", one.stream_id, one.session or day), []).append(one)
        for one in heard(connection, namespace, now, roles=("user", "assistant", "document"), files=True):
            documents.setdefault(derive_id("document", one.stream_id, one.session), []).append(one)
        return of_messages(connection, namespace, "document_summary", documents)

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write the summary of each document with the language tasks."""
        return written(self._summaries, parts)

    def _summaries(self, documents: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
        texts = self._tasks.summarize(documents)
        if len(texts) != len(documents):
            raise JobError(f"summarize was given {len(documents)} documents and returned {len(texts)} texts")
        pairs = zip(texts, documents, strict=True)
        return [[SourcedLine(text, tuple(range(len(document))))] for text, document in pairs]
