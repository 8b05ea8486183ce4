"""`NscmaMemoryBlock`: long-term memory as a block in LlamaIndex's `Memory`."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import Any, Self

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr, model_validator

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_count
from nscma_torch.controller.passages import shown_hit
from nscma_torch.core.records import Message, Scope
from nscma_torch.llm.prompts.quoting import NOT_FOLLOWED, quoted

_ROLES: Mapping[str, str] = {
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_FLUSHED = "llamaindex_flushed"  # metadata of a message that left a chat history automatically
_Said = tuple[str, str]  # role, text
_HEAD = f"Recalled from this user's long-term memory, best first. {NOT_FOLLOWED}"


class NscmaMemoryBlock(BaseMemoryBlock[str]):
    """Stores messages that leave the chat history, and recalls messages relevant to the user's newest message.

    It recalls the user's messages from any session, as passages of quoted data with speaker and time; if no stored text
    is relevant enough (`retrieval.floor`), it recalls nothing. Messages without text and instructions (from system or
    developer) are not stored.

    No message in a session is stored twice: messages put explicitly are treated as the session from its start, and
    messages leaving the history as its next part. The n-th message with the same words is stored if fewer than n such
    messages are stored.

    Args:
        memory: the memory that stores messages; the caller closes it.
        top_k: maximum number of passages.
        words: maximum words in a passage.
        threshold: minimum score, as in `Memory.search`.

    Raises pydantic's `ValidationError` for an invalid user id, or a number below 1.
    """

    name: str = "NSCMA"
    memory: Memory = Field(exclude=True, repr=False)
    user_id: str
    agent_id: str | None = None
    run_id: str | None = None
    top_k: int = 5
    words: int = 120
    threshold: float | None = None
    _flushed: dict[str, Counter[_Said]] = PrivateAttr(default_factory=dict)  # by session
    _lock: Lock = PrivateAttr(default_factory=Lock)

    @model_validator(mode="after")
    def _check(self) -> Self:
        Scope(self.user_id, self.agent_id, self.run_id)
        checked_count(self.top_k, "top_k")
        checked_count(self.words, "words")
        return self

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        **block_kwargs: Any,  # noqa: ARG002 - LlamaIndex's name
    ) -> str:
        asked = (message.content for message in reversed(messages or []) if message.role.value == "user")
        question = next((text for text in asked if text and text.strip()), None)
        return "" if question is None else await asyncio.to_thread(self._recalled, question)

    async def aput(
        self, messages: list[ChatMessage], from_short_term_memory: bool = False, session_id: str | None = None
    ) -> None:
        """Store messages; `from_short_term_memory` means that they are leaving the chat history, each once and in
        order.
        """
        if from_short_term_memory and not self.accept_short_term_memory:
            return
        kept = [one for message in messages if (one := _to_store(message, session_id)) is not None]
        if kept:
            await asyncio.to_thread(self._store, kept, flushed=from_short_term_memory)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    def _store(self, messages: Sequence[Message], *, flushed: bool) -> None:
        with self._lock:
            counts: dict[str, Counter[_Said]] = {}
            batch = []
            for message in messages:
                if message.session is None:
                    batch.append(message)
                    continue
                if message.session not in counts:
                    counts[message.session] = self._before(message.session) if flushed else Counter()
                said = message.role, message.content
                counts[message.session][said] += 1
                key = self._key(message.session, said, counts[message.session][said])
                batch.append(replace(message, idempotency_key=key, metadata={_FLUSHED: True} if flushed else {}))
            self.memory.add(batch, **self._ids())
            if flushed:
                self._flushed.update(counts)

    def _before(self, session: str) -> Counter[_Said]:
        """Count how often each message has left a session's history; the first time, the counts are read from the
        store.
        """
        if session not in self._flushed:
            own = self.memory.get_all(
                **self._ids(), filters={_FLUSHED: True}, limit=None, where=lambda one: one.session == session
            )
            self._flushed[session] = Counter((one.role, one.text) for one in own)
        return Counter(self._flushed[session])

    def _key(self, session: str, said: _Said, occurrence: int) -> str:
        """Return a key for a message in a session, independent of how the message was put."""
        what = json.dumps([self.agent_id, self.run_id, session, *said, occurrence])
        return f"llamaindex:{sha256(what.encode()).hexdigest()}"

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the block without its last passages, shortened by this many LlamaIndex tokens; None if no passage is
        left.
        """
        count = get_tokenizer()
        most = len(count(content)) - tokens_to_truncate
        shown = json.loads(content.rpartition("\n")[2])["memories"]
        while shown and len(count(_block(shown))) > most:
            shown.pop()
        return _block(shown) if shown else None

    def _recalled(self, question: str) -> str:
        asked = question[-self.memory.config.limits.max_question_characters :]
        hits = self.memory.search(asked, **self._ids(), top_k=self.top_k, threshold=self.threshold, relevant=True)
        return _block([shown_hit(asked, hit, self.words) for hit in hits]) if hits else ""

    def _ids(self) -> Mapping[str, Any]:
        return {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}


def _block(shown: Sequence[Mapping[str, str]]) -> str:
    """Render the block for the model. Stored text has no angle brackets, so it can't close a template tag."""
    return f"{_HEAD}\n{quoted({'memories': shown})}"


def _to_store(message: ChatMessage, session: str | None) -> Message | None:
    """Convert a message for storage in the given session, or if None its own; returns None if it isn't part of a
    conversation.
    """
    role, text = _ROLES.get(message.role.value), message.content
    if role is None or not text or not text.strip():
        return None
    if session is None:
        session = message.additional_kwargs.get("session_id")  # LlamaIndex puts it there
    return Message(role, text, session=None if session is None else str(session))
