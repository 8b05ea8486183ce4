"""`NscmaChatMessageHistory`: a conversation in a memory as a LangChain chat history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_instance, checked_text
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.integrations.langchain.messages import from_store, to_store


class NscmaChatMessageHistory(BaseChatMessageHistory):
    """The messages in one session, in order.

    Messages added here are searched, processed for facts and recalled like any other messages.

    Args:
        memory: the memory that stores the messages; the caller closes it.
        session_id: the conversation's `Message.session`.

    Raises `ScopeError` for invalid ids, `InvalidInputError` for a session that isn't a string.
    """

    def __init__(
        self, memory: Memory, session_id: str, *, user_id: str, agent_id: str | None = None, run_id: str | None = None
    ) -> None:
        super().__init__()
        self.memory = checked_instance(memory, Memory, "memory")
        self.session_id = checked_text(session_id, "session_id")
        self.scope = Scope(user_id, agent_id, run_id)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # LangChain: "a property or attribute"
        """Return the session's messages in the order in which they were added, including messages added by other
        means.
        """
        return [from_store(episode) for episode in self._episodes()]

    async def aget_messages(self) -> list[BaseMessage]:
        """Call `messages` in a thread, off the event loop."""
        return await asyncio.to_thread(lambda: self.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store all messages or none; they are on disk when this returns. Raises `InvalidInputError` for an invalid
        message.
        """
        if batch := [to_store(message, self.session_id) for message in messages]:
            self.memory.add(batch, **self._ids())

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Call `add_messages` in a thread, off the event loop."""
        await asyncio.to_thread(self.add_messages, messages)

    def clear(self) -> None:
        """Hide all messages in this session from every read. `Memory.restore` undoes this; `Memory.erase` deletes
        permanently.
        """
        ids = [episode.id for episode in self._episodes()]
        self.memory.components.editor.delete(self.scope.user_id, ids, at=datetime.now(UTC))

    async def aclear(self) -> None:
        """Call `clear` in a thread, off the event loop."""
        await asyncio.to_thread(self.clear)

    def _episodes(self) -> list[Episode]:
        """Return the session's messages in exactly this scope, excluding other agents' sessions with the same name."""
        own = episodes.live(to_micros(datetime.now(UTC))), episodes.in_session(self.session_id)
        with self.memory.components.database.read(self.scope.user_id) as connection:
            rows = episodes.select_all(connection, self.scope, *own)
            return [row for row in rows if row.scope == self.scope and row.source is None]

    def _ids(self) -> Mapping[str, Any]:
        return {"user_id": self.scope.user_id, "agent_id": self.scope.agent_id, "run_id": self.scope.run_id}
