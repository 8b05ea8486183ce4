"""`NscmaRetriever`: a memory's search results as LangChain documents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, model_validator

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_count
from nscma_torch.core.records import Scope
from nscma_torch.integrations.hits import metadata_of


class NscmaRetriever(BaseRetriever):
    """Searches one user's memory; `invoke(query, k=…)` overrides the maximum number of documents.

    A document has a unit's text as `page_content` and the unit's id as `id`; its metadata is the message's, with
    `memory_id`, `occurred_at`, `score` and others (`integrations/hits.py`). The arguments are the same as for
    `Memory.search`.

    Raises pydantic's `ValidationError` for an invalid user id, or a `k` below 1.
    """

    memory: Memory = Field(exclude=True, repr=False)
    user_id: str
    agent_id: str | None = None
    run_id: str | None = None
    k: int = 4
    filters: dict[str, Any] | None = None
    threshold: float | None = None
    strategy: str | None = None
    budget: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        Scope(self.user_id, self.agent_id, self.run_id)
        checked_count(self.k, "k")
        return self

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's name
        k: int | None = None,
    ) -> list[Document]:
        return self._found(query, k)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's name
        k: int | None = None,
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, k)

    def _found(self, query: str, k: int | None) -> list[Document]:
        scope: Mapping[str, Any] = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        hits = self.memory.search(
            query,
            **scope,
            filters=self.filters,
            top_k=self.k if k is None else checked_count(k, "k"),
            threshold=self.threshold,
            strategy=self.strategy,
            budget=self.budget,
        )
        return [Document(id=hit.unit.id, page_content=hit.text, metadata=metadata_of(hit)) for hit in hits]
