"""The components of a memory that are needed to answer questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nscma_torch.core.config import Config
from nscma_torch.core.database.database import Database
from nscma_torch.core.protocols import LanguageTasks

if TYPE_CHECKING:
    from nscma_torch.answering.fact_qa import FactQA
    from nscma_torch.answering.reader_qa import ReaderQA
    from nscma_torch.search.retriever import Retriever


class HasNotes(Protocol):
    """The result of reading a user's queued messages."""

    def notes(self) -> tuple[str, ...]: ...


class ReadsQueued(Protocol):
    """Processes a user's queued messages before a question is answered."""

    def settle(self, user_id: str) -> HasNotes: ...


class Parts(Protocol):
    """The configured components, each created on first use."""

    @property
    def config(self) -> Config: ...
    @property
    def database(self) -> Database: ...
    @property
    def tasks(self) -> LanguageTasks: ...
    @property
    def embedded_tasks(self) -> LanguageTasks: ...
    @property
    def fact_qa(self) -> FactQA: ...
    @property
    def reader_qa(self) -> ReaderQA | None: ...
    @property
    def retriever(self) -> Retriever: ...
    @property
    def settling(self) -> ReadsQueued: ...
