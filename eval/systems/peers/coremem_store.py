"""coremem: `MemoryCore.ingest_many` and `recall`, over its SQLite, FTS5 and ChromaDB.

Its own model, bge-small-en-v1.5, is downloaded when it is first used; COREMEM_EMBEDDING_MODEL, which its source names
for that, puts all-MiniLM-L6-v2 in its place. The cross-encoder of its default strategy (`episodic`) is downloaded too:
without it coremem ranks by its fusion alone, which DISABLE_CROSS_ENCODER says openly. `strategy = "direct"` uses none.
It weighs how old a message is by the clock of the machine, not by when the question is asked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from coremem import core

PACKAGE = "coremem"


class Store:
    """`MemoryCore` in a folder."""

    def __init__(self, folder: str, embedding: Any) -> None:
        os.environ |= {"COREMEM_EMBEDDING_MODEL": embedding.model, "DISABLE_CROSS_ENCODER": "1"}
        if core._batch_embedding_model() is None:  # else it would store messages without vectors, and say nothing
            raise RuntimeError(f"coremem cannot load its embedding model from {embedding.model}")
        self._memory: Any = core.MemoryCore(str(Path(folder) / "memory"))

    def add(self, messages: list[dict[str, Any]]) -> None:
        """Store the messages in one batch, which is how it embeds fastest."""
        self._memory.ingest_many(
            [
                {
                    "role": message["role"],
                    "content": message["said"],
                    "session_id": message["session"] or "",
                    "ts": message["at"],
                    "metadata": {"place": message["place"]},
                }
                for message in messages
            ]
        )

    def query(self, text: str, top_k: int, now: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: ARG002
        """What it recalls, by its default strategy where `arguments` names none."""
        found = self._memory.recall(text, limit=top_k, **arguments)
        return [{"places": [hit.memory.metadata["place"]], "text": hit.memory.content} for hit in found]

    def close(self) -> None:
        """Close its files."""
        self._memory.close()
