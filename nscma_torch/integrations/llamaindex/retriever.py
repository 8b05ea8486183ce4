"""`NscmaRetriever`: a memory's search results as LlamaIndex nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_count, checked_instance
from nscma_torch.core.records import Hit, Scope
from nscma_torch.integrations.hits import metadata_of

_FOR_A_MODEL = frozenset({"name", "role", "occurred_at", "source"})  # of the metadata; the rest is for programs


class NscmaRetriever(BaseRetriever):
    """Searches one user's memory.

    A node has a unit's text and id; its metadata is the message's, with `memory_id`, `occurred_at` and others
    (`integrations/hits.py`), of which a model sees speaker, source and time. The arguments are the same as for
    `Memory.search`; `similarity_top_k` is the maximum number of nodes.

    Raises `ScopeError` for an invalid user id, `InvalidInputError` for any other invalid argument.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        similarity_top_k: int = 4,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        strategy: str | None = None,
        budget: int | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self.memory = checked_instance(memory, Memory, "memory")
        self.scope = Scope(user_id, agent_id, run_id)
        self.similarity_top_k = checked_count(similarity_top_k, "similarity_top_k")
        self._how = {"filters": filters, "threshold": threshold, "strategy": strategy, "budget": budget}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.memory.search(
            query_bundle.query_str,
            user_id=self.scope.user_id,
            agent_id=self.scope.agent_id,
            run_id=self.scope.run_id,
            top_k=self.similarity_top_k,
            **self._how,  # type: ignore[arg-type] # each as `__init__` has it
        )
        return [_node(hit) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit) -> NodeWithScore:
    metadata = metadata_of(hit)
    hidden = [name for name in metadata if name not in _FOR_A_MODEL]
    node = TextNode(
        id_=hit.unit.id,
        text=hit.text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
    )
    return NodeWithScore(node=node, score=hit.score)
