"""A store for `eval/systems/peers/serve.py` that no package is behind: most words in common first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PACKAGE = "pydantic"  # any that is installed


class Store:
    def __init__(self, folder: str, embedding: Any) -> None:
        assert Path(embedding.model, "tokenizer.json").is_file() and not list(Path.home().iterdir())
        self._file = Path(folder) / "messages"
        self._embed = embedding.embed
        self._messages: list[dict[str, Any]] = []

    def add(self, messages: list[dict[str, Any]]) -> None:
        print("printed by a package")
        assert len(self._embed([message["said"] for message in messages])) == len(messages)
        self._messages += messages
        self._file.write_text("\n".join(message["said"] for message in messages), encoding="utf-8")

    def query(self, text: str, top_k: int, now: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        if text == "Break":
            raise RuntimeError("it broke")
        words = set(re.findall(r"\w+", text.lower()))
        said = sorted(self._messages, key=lambda one: -len(words & set(re.findall(r"\w+", one["said"].lower()))))
        if arguments.get("newest"):
            said = [message for message in sorted(said, key=lambda one: one["at"], reverse=True) if message["at"] < now]
        return [{"places": [message["place"]], "text": message["said"]} for message in said[:top_k]]

    def close(self) -> None:
        self._file.unlink()
