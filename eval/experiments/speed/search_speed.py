"""How long `Memory.search` takes in a large memory, and where the time goes.

    python -m eval.experiments.speed.search_speed --data DIR [--units 100000] [--store FILE]

The memory holds sentences of the novels as messages of one user; questions are sentences of a novel that is not in it.
Vectors are random, 384 numbers for each text: how long a search takes does not depend on what they mean, and the time
of the encoder is left out. Milliseconds of a shared machine: for orientation; the shares hold better.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from rich.console import Console
from rich.table import Table

from eval.harness.fakes import IndifferentSurpriseModel
from nscma_torch import Memory, Message, load_config
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import TensorSearch
from nscma_torch.search import search
from nscma_torch.text.sentences import split_sentences

_NOW = datetime(2024, 1, 1, tzinfo=UTC)
_DIMENSION = 384
_STEPS: dict[str, tuple[Any, str]] = {
    "filters": (UserIndex, "where"),
    "postings": (UserIndex, "postings"),
    "bm25": (search, "bm25"),
    "vectors": (TensorSearch, "search"),
    "answerability": (search, "answerability"),
    "units": (unit_rows, "load"),
}


class RandomEmbedder:
    """`Embedder` whose vectors are random but for each text the same."""

    fingerprint = f"random-{_DIMENSION}"
    dimension = _DIMENSION
    max_tokens = 256

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + 2 for text in texts]

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> torch.Tensor:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")
        vector = torch.randn(_DIMENSION, generator=torch.Generator().manual_seed(seed))
        return torch.nn.functional.normalize(vector, dim=0)


def sentences(paths: Sequence[Path], most: int) -> list[str]:
    """The first sentences of these novels with 4 to 60 words."""
    found: list[str] = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for start in range(0, len(text), 50_000):
            part = text[start : start + 50_000]
            said = (" ".join(part[span.start : span.end].split()) for span in split_sentences(part))
            found += [sentence for sentence in said if 4 <= len(sentence.split()) <= 60]
            if len(found) >= most:
                return found[:most]
    return found


@contextmanager
def timed(seconds: dict[str, float]) -> Iterator[None]:
    """Adds up the seconds of each step of a search."""

    def watched(step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            begin = time.perf_counter()
            try:
                return call(*args, **more)
            finally:
                seconds[step] += time.perf_counter() - begin

        return run

    patches = [
        mock.patch.object(place, name, watched(step, getattr(place, name))) for step, (place, name) in _STEPS.items()
    ]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def measure(memory: Memory, questions: Sequence[str], strategy: str) -> tuple[list[float], dict[str, float]]:
    """Milliseconds of each search, and of each step in all of them."""
    seconds: dict[str, float] = defaultdict(float)
    took = []
    with timed(seconds):
        for question in questions:
            begin = time.perf_counter()
            memory.search(question, user_id="reader", now=_NOW, strategy=strategy)
            took.append(1000 * (time.perf_counter() - begin))
    return took, {step: 1000 * value for step, value in seconds.items()}


def main() -> None:
    """Fill a store, if it is not there, and print one row for each strategy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds novels/")
    parser.add_argument("--units", type=int, default=100_000, help="messages in the memory")
    parser.add_argument("--questions", type=int, default=100, help="searches of each strategy")
    parser.add_argument("--strategies", nargs="+", default=["auto", "single-step"])
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="of the vectors in memory")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    first, *paths = sorted((arguments.data / "novels").glob("*.txt"))
    said = sentences(paths, arguments.units)
    questions = sentences([first], arguments.questions)
    config = load_config(
        {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}, "index": {"dtype": arguments.dtype}}
    )
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "speed.db"
        with Memory(
            store, config=config, embedder=RandomEmbedder(), surprise_model=IndifferentSurpriseModel()
        ) as memory:
            messages = (Message("user", text, _NOW, "Reader") for text in said)
            for _ in memory.add_many(messages, user_id="reader", infer=False, now=_NOW):
                continue
            begin = time.perf_counter()
            memory.search(questions[0], user_id="reader", now=_NOW)
            opened = time.perf_counter() - begin
            table = Table("strategy", "p50 ms", "p95 ms", *(f"{step} ms" for step in _STEPS), "rest ms")
            for strategy in arguments.strategies:
                took, steps = measure(memory, questions, strategy)
                own = [steps.get(step, 0.0) / len(took) for step in _STEPS]
                p95 = sorted(took)[int(0.95 * len(took))]
                rest = statistics.mean(took) - sum(own)
                cells = (f"{value:.1f}" for value in (statistics.median(took), p95, *own, rest))
                table.add_row(strategy, *cells)
    console = Console(width=140)
    console.print(table)
    console.print(f"{len(said):,} units; the first search, which reads the index, took {opened:.1f} s")


if __name__ == "__main__":
    main()
