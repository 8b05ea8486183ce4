"""Standard RAG: passages in ChromaDB by the vectors of the run's embedder, the nearest five handed to the reader.

ChromaDB runs in a process of its own, under an interpreter of its own (`eval/systems/chroma_server.py` says how to make
one), for its dependencies are not this project's; one process serves all samples of a rank, each in its own folder.
"""

from __future__ import annotations

import base64
import json
import subprocess
import weakref
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
from nscma_torch.config import Section
from nscma_torch.errors import ConfigError, StoreError
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.protocols import Embedder

_PROGRAM = Path(__file__).parent / "chroma_server.py"
_WAIT = 10.0  # seconds for it to end by itself


class RagOptions(Section):
    """Options of kind rag."""

    python: str = Field(min_length=1, description="Interpreter that has chromadb.")
    top_k: int = Field(5, gt=0, description="Passages that are read.")


class Chroma:
    """The process, started when it is first asked; it ends with this object or the program."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request. Raises `StoreError` where the process ended over it; its own words are on standard error."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process = None
            raise StoreError(f"ChromaDB's process ended with code {process.wait()}; what it said stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def check(self) -> None:
        """Start the process. Raises `ConfigError` where its interpreter cannot be run, or has no chromadb."""
        try:
            self.ask({"do": "version"})
        except StoreError as error:
            raise ConfigError(f"python = {self._python!r} does not run {_PROGRAM.name}: {error}") from error

    def close(self) -> None:
        """Close the collection that is open, if the process lives."""
        if self._process is not None:
            self.ask({"do": "close"})

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            try:
                process = subprocess.Popen(
                    [self._python, str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            except OSError as error:
                raise ConfigError(
                    f"python = {self._python!r} cannot be run ({error.strerror}): it needs chromadb; `make chroma` "
                    "makes .venv-chroma, and --systems names those to run without it"
                ) from error
            weakref.finalize(self, _end, process)
            self._process = process
        return self._process


def _end(process: subprocess.Popen[str]) -> None:
    """Close the input, which ends it."""
    assert process.stdin is not None and process.stdout is not None
    with process.stdout:
        try:
            process.stdin.close()
        except BrokenPipeError:
            return
        finally:
            try:
                process.wait(_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class ChromaFinder:
    """The nearest passages of one collection.

    Args:
        folder: where ChromaDB keeps it.
    """

    def __init__(self, chroma: Chroma, folder: Path, embedder: Embedder, top_k: int) -> None:
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
    chroma = Chroma(options.python)
    chroma.check()

    @contextmanager
    def opened(folder: Path, engine: LanguageEngine | None) -> Iterator[Finder]:  # noqa: ARG001
        chroma.ask({"do": "open", "folder": str(folder)})
        try:
            yield ChromaFinder(chroma, folder, shared.embedder, options.top_k)
        finally:
            chroma.close()

    return Baseline(section["name"], options, shared, opened)
