"""A LlamaIndex chat with a memory block that recalls messages from another session.

    python -m nscma_torch.examples.llamaindex_agent

It needs the extra `llamaindex`. The model is scripted, so that the example runs everywhere; replace it with yours. It
prints:

    session 1: Noted.
    session 1: Noted.
    session 2: You said: My sister Marta works at Bosch.
    found by the retriever: My sister Marta works at Bosch.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory as ChatMemory
from sqlalchemy.ext.asyncio import create_async_engine

from nscma_torch import Memory
from nscma_torch.integrations.llamaindex import NscmaMemoryBlock, NscmaRetriever


class ScriptedModel(CustomLLM):
    """A scripted model that answers a question with the first recalled passage in the prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        recalled = re.search(r'^\{"memories": .*$', prompt, flags=re.MULTILINE)
        if not recalled or not prompt.removesuffix("assistant: ").rstrip().endswith("?"):
            return CompletionResponse(text="Noted.")
        return CompletionResponse(text="You said: " + json.loads(recalled[0])["memories"][0]["text"])

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        yield self.complete(prompt)


async def converse(memory: Memory, session: str, *said: str) -> None:
    """Run one session; at the end, the remaining history is also put into the memory block."""
    history = create_async_engine("sqlite+aiosqlite:///:memory:")
    block = NscmaMemoryBlock(memory=memory, user_id="ana", top_k=2)
    chat_memory = ChatMemory.from_defaults(session_id=session, memory_blocks=[block], async_engine=history)
    engine = SimpleChatEngine.from_defaults(llm=ScriptedModel(), memory=chat_memory)
    for text in said:
        print(f"{session}: {(await engine.achat(text)).response}")
    await block.aput(await chat_memory.aget_all(), session_id=session)
    await history.dispose()


def main() -> None:
    """Run two sessions, and a retriever over both."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "chat.db") as memory:
        asyncio.run(converse(memory, "session 1", "My sister Marta works at Bosch.", "We had pizza today."))
        asyncio.run(converse(memory, "session 2", "Where does my sister work?"))
        retriever = NscmaRetriever(memory, user_id="ana", similarity_top_k=1)
        print("found by the retriever:", retriever.retrieve("Marta's job at Bosch")[0].text)


if __name__ == "__main__":
    main()
