"""Summaries of whole documents: S_q = LLM(D_q, P_S), Structural Memory section 3.1.

A document is a session of a conversation, a day of a conversation without sessions, or the content of a file (one
document per session if the file has sessions). It is summarized again when one of its messages changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, MessageDeriver
from nscma_torch.curator.derived.groups import day_of
from nscma_torch.curator.store.derived_sources import Heard, heard
from nscma_torch.episodic.log.streams import derive_id


def deriver(needs: DeriverContext) -> Deriver:
    """Derive a summary of each document from all of its messages."""
    tasks = needs.tasks_with(LanguageTasks, "document_summary")
    return MessageDeriver("document_summary", _documents, partial(_summaries, tasks))


def _documents(connection: Connection, namespace: str, now: datetime) -> dict[str, list[Heard]]:
    documents: dict[str, list[Heard]] = {}
    for one in heard(connection, namespace, now, roles=("user", "assistant")):
        if not one.echo:
            key = derive_id("document", one.stream_id, one.session or day_of(one))
            documents.setdefault(key, []).append(one)
    for one in heard(connection, namespace, now, roles=("user", "assistant", "document"), files=True):
        documents.setdefault(derive_id("document", one.stream_id, one.session), []).append(one)
    return documents


def _summaries(tasks: LanguageTasks, documents: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
    texts = tasks.summarize(documents)
    if len(texts) != len(documents):
        raise JobError(f"summarize was given {len(documents)} documents and returned {len(texts)} texts")
    pairs = zip(texts, documents, strict=True)
    return [[SourcedLine(text, tuple(range(len(document))))] for text, document in pairs]
