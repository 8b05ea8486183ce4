"""`NscmaMemoryBlock`: long-term memory as a block of LlamaIndex's `Memory`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer
from pydantic import Field, model_validator

from nscma_torch.controller.passages import shown_hit
from nscma_torch.llm.prompts.quoting import NOT_FOLLOWED, quoted
from nscma_torch.memory import Memory
from nscma_torch.records import Message, Scope
from nscma_torch.validation import checked_count

_ROLES: Mapping[str, str] = {
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_HEAD = f"Recalled from this user's long-term memory, best first. {NOT_FOLLOWED}"


class NscmaMemoryBlock(BaseMemoryBlock[str]):
    """Keeps what leaves the chat history, and recalls what bears on the newest message of the user.

    Recalled is what the user said in any session: passages as quoted data, with who said it and when;
    nothing where all that is stored bears little on it (`retrieval.floor`).
    Messages without text, and instructions (system, developer), are not kept.

    Args:
        memory: where messages are kept; it stays the caller's, to be closed by the caller.
        top_k: how many passages at most.
        words: how many words of a passage at most.
        threshold: lowest score, as in `Memory.search`.

    Raises pydantic's `ValidationError` for an id that no user can have, or a number below 1.
    """

    name: str = "NSCMA"
    memory: Memory = Field(exclude=True, repr=False)
    user_id: str
    agent_id: str | None = None
    run_id: str | None = None
    top_k: int = 5
    words: int = 120
    threshold: float | None = None

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

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if batch := [kept for message in messages if (kept := _to_store(message)) is not None]:
            await asyncio.to_thread(self.memory.add, batch, **self._ids())

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block without its last passages, in LlamaIndex's tokens; None where none is left."""
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
    """What a model reads. Stored text has no angle brackets in it: it closes no tag of the template."""
    return f"{_HEAD}\n{quoted({'memories': shown})}"


def _to_store(message: ChatMessage) -> Message | None:
    """The message as it is kept; None for what is no part of a conversation."""
    role, text = _ROLES.get(message.role.value), message.content
    if role is None or not text or not text.strip():
        return None
    session = message.additional_kwargs.get("session_id")  # LlamaIndex puts it there
    return Message(role, text, session=None if session is None else str(session))
