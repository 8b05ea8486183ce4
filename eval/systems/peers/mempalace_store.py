"""MemPalace: each message a drawer, filed and searched by the tools that it gives to agents over MCP.

`mempalace_add_drawer` files a text as it is (above 800 characters in parts), `mempalace_search` ranks by vectors and
BM25; its own program for LoCoMo files one turn a drawer too. Its default model is ChromaDB's ONNX export of
all-MiniLM-L6-v2, which is downloaded; here it embeds through its setting `openai-compat`. The closets that
`mempalace mine` writes for whole files are not made.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from mempalace import mcp_server as tools

PACKAGE = "mempalace"
_WING, _ROOM = "messages", "general"

logging.getLogger("mempalace_mcp").setLevel(logging.WARNING)  # else it names every drawer that it files


class Store:
    """A palace in a folder."""

    def __init__(self, folder: str, embedding: Any) -> None:
        os.environ |= {
            "MEMPALACE_PALACE_PATH": folder,
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": embedding.url,
            "MEMPALACE_EMBEDDING_API_MODEL": "embedder",
        }
        tools.tool_reconnect()  # the server keeps the last palace open, even one whose folder is gone
        self._places: dict[str, list[int]] = {}  # by drawer: one for a text that was said twice

    def add(self, messages: list[dict[str, Any]]) -> None:
        """File each message."""
        for message in messages:
            room = message["session"] or _ROOM
            filed = tools.tool_add_drawer(wing=_WING, room=room, content=message["said"])
            if not filed["success"]:
                raise RuntimeError(filed["error"])
            self._places.setdefault(filed["drawer_id"], []).append(message["place"])

    def query(self, text: str, top_k: int, now: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The drawers that it finds."""
        found = tools.tool_search(text, limit=top_k, **arguments)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [{"places": self._places[hit["drawer_id"]], "text": hit["text"]} for hit in found["results"]]

    def close(self) -> None:
        """Let go of its files."""
        tools.tool_reconnect()
