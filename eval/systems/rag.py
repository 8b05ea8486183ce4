"""Standard RAG: passages in ChromaDB by the vectors of the run's embedder, the nearest five handed to the reader.

ChromaDB runs in a process of its own, under an interpreter of its own (`eval/systems/chroma_server.py` says how to make
one), and keeps each sample in its own folder.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field
from torch import Tensor

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Finder, Found, best
from eval.systems.documents import RANKED, said
from eval.systems.files import folder_bytes
from eval.systems.options import options_of
from eval.systems.peer_process import PeerProcess
from nscma_torch.core.config import Section
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import Embedder
from nscma_torch.llm.engines.contract import LanguageEngine

_PROGRAM = Path(__file__).parent / "chroma_server.py"


class RagOptions(Section):
    """Options of kind rag."""

    python: str = Field(min_length=1, description="Interpreter that has chromadb.")
    top_k: int = Field(5, gt=0, description="Passages that are read.")


class ChromaFinder:
    """The nearest passages of one collection.

    Args:
        folder: where ChromaDB keeps it.
    """

    def __init__(self, chroma: PeerProcess, folder: Path, embedder: Embedder, top_k: int) -> None:
        self._chroma = chroma
        self._folder = folder
        self._embedder = embedder
        self._top_k = top_k
        self._passages: Sequence[Passage] = ()

    def keep(self, passages: Sequence[Passage]) -> None:
        """Embed and add the passages."""
        texts = [said(passage) for passage in passages]
        self._passages = passages
        if texts:
            self._chroma.ask({"do": "add", "texts": texts, "vectors": _encoded(self._embedder.embed(texts))})

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """The `top_k` nearest."""
        if not self._passages:
            return best((), self._top_k)
        vector = _encoded(self._embedder.embed_query(question))
        found = self._chroma.ask({"do": "query", "vector": vector, "top_k": max(RANKED, self._top_k)})
        return best([self._passages[row] for row in found["rows"]], self._top_k)

    def store_bytes(self) -> int:
        """Of ChromaDB's files."""
        return folder_bytes(self._folder)


def _encoded(vectors: Tensor) -> str:
    return base64.b64encode(vectors.float().cpu().contiguous().numpy().tobytes()).decode()


def make_rag(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind rag. Raises `ConfigError` where ChromaDB cannot be started."""
    if "python" not in section:
        raise ConfigError(f"system {section['name']!r} of kind 'rag' needs python, an interpreter that has chromadb")
    options = options_of(RagOptions(python=str(section["python"])), section)
    chroma = PeerProcess(options.python, [_PROGRAM], "chromadb", "chroma")
    chroma.check()

    @contextmanager
    def opened(folder: Path, engine: LanguageEngine | None) -> Iterator[Finder]:  # noqa: ARG001
        chroma.ask({"do": "open", "folder": str(folder)})
        try:
            yield ChromaFinder(chroma, folder, shared.embedder, options.top_k)
        finally:
            chroma.close()

    return Baseline(section["name"], options, shared, opened)
