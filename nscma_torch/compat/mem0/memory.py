"""`Memory` with mem0's names, arguments and results, on top of this library's store."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from nscma_torch.api import memory as nscma
from nscma_torch.compat.mem0 import operations, searching
from nscma_torch.compat.mem0.configuration import MemoryConfig, configuration
from nscma_torch.compat.mem0.operations import ids_of
from nscma_torch.compat.mem0.searching import THRESHOLD, TOP_K
from nscma_torch.core.records import KEEP

logger = logging.getLogger(__name__)


class Memory:
    """mem0's `Memory`. Each message is a memory, with the facts extracted from it.

    Args:
        config: a `MemoryConfig` or a dict of its keys, as in mem0; None for the defaults.

    `nscma` is the underlying memory, with operations that mem0 lacks: `ask`, `facts`, `erase`, …
    """

    def __init__(self, config: MemoryConfig | Mapping[str, Any] | None = None) -> None:
        self.config = configuration(config)
        store = self.config.store
        store.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.nscma = nscma.Memory(store, config=self.config.settings)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Create a memory from a dict with mem0's configuration. Raises `ConfigError` if it is invalid."""
        return cls(config_dict)

    @classmethod
    def over(cls, memory: nscma.Memory) -> Self:
        """Wrap an open memory in mem0's interface."""
        made = cls.__new__(cls)
        made.config = MemoryConfig()
        made.nscma = memory
        return made

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Store a text, a message or a list of messages. See `operations.add`."""
        return operations.add(
            self.nscma,
            messages,
            ids_of(user_id, agent_id, run_id),
            metadata=metadata,
            timestamp=timestamp,
            expiration_date=expiration_date,
            infer=infer,
            memory_type=memory_type,
            prompt=prompt,
        )

    def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """Return the best matching memories. See `searching.search`; ids may also be in `filters`."""
        return searching.search(
            self.nscma,
            query,
            filters=filters,
            ids=ids_of(user_id, agent_id, run_id),
            top_k=top_k,
            limit=limit,
            threshold=threshold,
            rerank=rerank,
            explain=explain,
            reference_date=reference_date,
            show_expired=show_expired,
        )

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return the memory with this id, or None."""
        return operations.get(self.nscma, memory_id)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = TOP_K,
        show_expired: bool = False,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """Return memories that match the filters, in order of arrival; ids may also be in `filters`."""
        ids = ids_of(user_id, agent_id, run_id)
        return operations.get_all(
            self.nscma, filters=filters, ids=ids, top_k=top_k, limit=limit, show_expired=show_expired
        )

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = KEEP,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change a memory's text, metadata or expiration date; `data` is an old name for `text`."""
        if data is not None:
            logger.warning("update(): `data` is an old name for `text`; use `text`")
            text = data if text is None else text
        return operations.update(self.nscma, memory_id, text, metadata=metadata, expiration_date=expiration_date)

    def delete(self, memory_id: str) -> dict[str, str]:
        """Hide a memory from everything except its history."""
        return operations.delete(self.nscma, memory_id)

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Hide all memories that belong to a user, an agent or a run."""
        return operations.delete_all(self.nscma, ids_of(user_id, agent_id, run_id))

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return a memory's history, oldest first."""
        return operations.history_events(self.nscma, memory_id)

    def reset(self) -> None:
        """Erase all users in the store. This can't be undone."""
        logger.warning("Resetting all memories")
        self.nscma.reset()

    def close(self) -> None:
        """Close the store."""
        self.nscma.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
