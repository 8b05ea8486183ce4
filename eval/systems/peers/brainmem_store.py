"""brainmem: `Memory.encode`, the sleep pass `consolidate` at the end of each session, and `retrieve`.

With an `Embedder` of its protocol and its offline judge (HeuristicLLM). Who speaks is its `actor`, which it does not
embed. It keeps sentences that can stand alone, at most eight of a group of similar messages, and returns these. A fact
names all messages of its group; here it is of those that hold the sentence, so that no result counts for a message that
it does not show. Retrieving changes its ranking (it counts uses), so each question is asked of a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import brainmem
import numpy as np
from numpy.typing import NDArray

PACKAGE = "brainmem"


class Embedder:
    """brainmem's protocol; `dim` is d."""

    def __init__(self, embedding: Any) -> None:
        self._embedding = embedding
        self.dim = self.embed(["dimension"]).shape[1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors [n, d], as those of the run are."""
        return np.array(self._embedding.embed(texts), dtype=np.float32)


class Store:
    """`Memory` in a folder."""

    def __init__(self, folder: str, embedding: Any) -> None:
        self._embedder = Embedder(embedding)
        self._memory: Any = brainmem.Memory(str(Path(folder) / "memory.db"), embedder=self._embedder)
        self._said: dict[int, tuple[int, str]] = {}  # place and content by episode

    def add(self, messages: list[dict[str, Any]]) -> None:
        """Encode the messages in order, and consolidate after each session."""
        for session, together in groupby(messages, key=lambda message: message["session"]):
            at = 0.0
            for message in together:
                at = _seconds(message["at"])
                kept = self._memory.encode(message["content"], actor=message["name"], session=session, ts=at)
                if kept["episode_id"] is not None:
                    self._said[kept["episode_id"]] = message["place"], message["content"]
            while self._memory.consolidate(now=at)["episodes"]:
                pass

    def query(self, text: str, top_k: int, now: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """The facts that it retrieves."""
        copy = brainmem.Memory(embedder=self._embedder)
        self._memory.db.backup(copy.db)
        found = copy.retrieve(text, k=top_k, now=_seconds(now), **arguments)
        copy.db.close()
        return [{"places": self._places(fact), "text": fact.proposition} for fact in found]

    def _places(self, fact: Any) -> list[int]:
        said = [self._said[episode] for episode in fact.provenance]
        holding = [place for place, content in said if fact.proposition in content]
        return holding or [place for place, _ in said]

    def close(self) -> None:
        """Close its file."""
        self._memory.db.close()


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).astimezone(UTC).timestamp()
