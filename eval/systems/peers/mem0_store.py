"""mem0 without its language model: messages as they are (`infer=False`), in its faiss store.

Names stand before what was said, as in mem0's own LoCoMo program: mem0 embeds no names, and without them its recall
halves. The language model that its configuration demands is never called, and with faiss there is no keyword search. It
embeds through its provider `openai`. Messages are added one by one, since a list is stored under one set of metadata.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mem0 import Memory

PACKAGE = "mem0ai"
_USER = "reader"


class Store:
    """mem0's `Memory`, all of its files in a folder."""

    def __init__(self, folder: str, embedding: Any) -> None:
        self._memory: Any = Memory.from_config(
            {
                "embedder": {
                    "provider": "openai",
                    "config": {"api_key": "none", "model": "embedder", "openai_base_url": f"{embedding.url}/v1"},
                },
                "vector_store": {
                    "provider": "faiss",
                    "config": {
                        "path": str(Path(folder) / "faiss"),
                        "embedding_model_dims": len(embedding.embed(["dimension"])[0]),
                        "distance_strategy": "cosine",
                    },
                },
                "llm": {"provider": "openai", "config": {"api_key": "never-called", "model": "never-called"}},
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )

    def add(self, messages: list[dict[str, Any]]) -> None:
        """Store each message as one memory."""
        for message in messages:
            turn = {"role": message["role"], "content": message["said"]}
            self._memory.add([turn], user_id=_USER, metadata={"place": message["place"]}, infer=False)

    def query(self, text: str, top_k: int, now: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The nearest memories, without a threshold."""
        found = self._memory.search(text, filters={"user_id": _USER}, top_k=top_k, threshold=0.0, **arguments)
        return [{"places": [hit["metadata"]["place"]], "text": hit["memory"]} for hit in found["results"]]

    def close(self) -> None:
        """Close its files."""
        self._memory.close()
