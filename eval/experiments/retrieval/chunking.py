"""Where to cut long texts: whole sentences, fixed windows, or peaks of surprise (EM-LLM), by what search then finds.

    python -m eval.experiments.retrieval.chunking --data DIR [--sets beam qmsum] [--worlds N] [--cache DIR]

Every strategy fills chunks up to the embedder's limit, and one that cuts at peaks makes shorter ones; so sentences are
packed a second time, to a limit at which there are as many chunks as `surprise` made. Evidence is messages (BEAM) or
characters of meetings (QMSum). Chunks of different length are compared by what a reader gets: `covered` is the share of
the evidence's characters, of the whole message in BEAM, that stands in the first hits until they have so many tokens
together. Recall is of messages in the first places, for BEAM alone. Search is single-step over chunks, both lanes.
Choices were made on the even half; claims quote the odd one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.gate.gating import HALVES
from eval.harness.fakes import IndifferentProxy
from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.corpus import Span
from eval.tasks.retrieval_sets import SETS, Asked, DataSet, World
from nscma_torch import Memory, load_config
from nscma_torch.buffer.proxy import RecurrentProxy
from nscma_torch.device import torch_device
from nscma_torch.encode.indexer import Indexer
from nscma_torch.records import Hit
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.embedder import load_embedder
from nscma_torch.text.segmentation import Segmentation

BUDGETS = (1000, 2000)  # tokens of hits that are read
KS = (5, 10)
_DEPTH = 100  # hits asked for
_OFF = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}, "retrieval": {"strategy": "single-step"}}


@dataclass(frozen=True)
class Found:
    """One question: covered share of its evidence at each of `BUDGETS`, recall of messages at each of `KS`."""

    asked: Asked
    covered: Sequence[float]
    recall: Sequence[float]


@dataclass(frozen=True)
class Row:
    """One way of cutting: its chunks, their mean tokens, and every question."""

    name: str
    chunks: int
    tokens: float
    found: Sequence[Found]


def covered(spans: Sequence[Span], evidence: Sequence[Span]) -> float:
    """The share of the characters of the evidence that stand in the spans."""
    wanted = {(span.document, i) for span in evidence for i in range(span.start, span.end)}
    read = {(span.document, i) for span in spans for i in range(span.start, span.end)}
    return len(wanted & read) / len(wanted)


def within(lengths: Sequence[int], budget: int) -> int:
    """How many of the first lengths have at most so much together."""
    total = 0
    for i, length in enumerate(lengths):
        total += length
        if total > budget:
            return i
    return len(lengths)


def ask(data_set: DataSet, chunker: Chunker, embedder: CachedEmbedder) -> list[Found]:
    """Store every user, cut by this chunker, and ask every question."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for i, world in enumerate(data_set.worlds):
            store = Path(folder) / f"{i}.db"
            with Memory(store, config=load_config(_OFF), embedder=embedder, proxy=IndifferentProxy()) as memory:
                memory.components.indexer = Indexer(embedder, chunker, memory.components.stages)
                added = memory.add_many(world.messages, user_id=world.user, now=world.asked_at)
                place = {item.id: n for n, item in enumerate(added)}
                found += [_judged(memory, world, asked, place, embedder) for asked in world.questions]
    return found


def _judged(memory: Memory, world: World, asked: Asked, place: Mapping[str, int], embedder: CachedEmbedder) -> Found:
    hits = memory.search(asked.text, user_id=world.user, top_k=_DEPTH, now=world.asked_at)
    lengths = embedder.count_tokens([hit.text for hit in hits])
    spans = [_span(hit, place) for hit in hits]
    messages = list(dict.fromkeys(span.document for span in spans))
    needed = {span.document for span in asked.evidence}
    return Found(
        asked,
        [covered(spans[: within(lengths, budget)], asked.evidence) for budget in BUDGETS],
        [recall_at(messages, needed, k) for k in KS],
    )


def _span(hit: Hit, place: Mapping[str, int]) -> Span:
    return Span(place[hit.unit.episode_ids[0]], hit.unit.start, hit.unit.end)


def sizes(data_set: DataSet, chunker: Chunker) -> list[int]:
    """Tokens of every chunk of a data set."""
    return [
        chunk.n_tokens
        for world in data_set.worlds
        for message in world.messages
        for chunk in chunker.chunk(message.content)
    ]


def limit_for(data_set: DataSet, count: int, embedder: CachedEmbedder) -> int:
    """The limit in tokens at which sentences make the number of chunks that is nearest to `count`."""
    low, high = 8, embedder.max_tokens
    while low < high:
        middle = (low + high) // 2
        if len(sizes(data_set, Chunker(embedder.count_tokens, middle))) > count:
            low = middle + 1
        else:
            high = middle
    return low


def chunkers(
    data_set: DataSet, gammas: Sequence[float], embedder: CachedEmbedder, surprise: Callable[[str], torch.Tensor]
) -> Iterator[tuple[str, Chunker]]:
    """Sentences and fixed windows of full size, surprise at each gamma, and sentences as short as at the first."""
    count, most = embedder.count_tokens, embedder.max_tokens
    yield "sentence", Chunker(count, most)
    yield "fixed", Chunker(count, most, strategy="fixed")
    at_peaks = [Chunker(count, most, 0, "surprise", Segmentation(surprise, gamma)) for gamma in gammas]
    for gamma, chunker in zip(gammas, at_peaks, strict=True):
        yield f"surprise, gamma {gamma:g}", chunker
    limit = limit_for(data_set, len(sizes(data_set, at_peaks[0])), embedder)
    yield f"sentence, at most {limit}", Chunker(count, limit)


def table(name: str, rows: Sequence[Row], *, messages: bool) -> Table:
    """A line for each way of cutting; recall only where evidence is messages."""
    columns = [f"covered at {' / '.join(map(str, BUDGETS))}, {half}" for half in HALVES]
    columns += [f"R@{' / '.join(map(str, KS))}, {half}" for half in HALVES if messages]
    shown = Table("chunks end at", "chunks", "mean tokens", *columns, title=name)
    for row in rows:
        by_half = [[own for own in row.found if half in ("all", own.asked.half)] for half in HALVES]
        cells = [_means([own.covered for own in some]) for some in by_half]
        cells += [_means([own.recall for own in some]) for some in by_half if messages]
        shown.add_row(row.name, f"{row.chunks:,}", f"{row.tokens:.0f}", *cells)
    return shown


def _means(values: Sequence[Sequence[float]]) -> str:
    return " / ".join(f"{mean(column):.3f}" for column in zip(*values, strict=True))


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds beam/ and qmsum/")
    parser.add_argument("--sets", nargs="+", choices=("beam", "qmsum"), default=["beam", "qmsum"])
    parser.add_argument("--worlds", type=int, help="only so many chats, or halves of QMSum, the first ones")
    parser.add_argument("--gammas", nargs="+", type=float, default=[1.0], help="gammas of surprise")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config, proxy, console = load_config(None), RecurrentProxy.load(), Console(width=170)
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder = CachedEmbedder(plain, arguments.cache)

    @cache
    def surprise(text: str) -> torch.Tensor:
        return proxy.score([[text]], [None])[0].nll[0]

    for name in arguments.sets:
        data_set = SETS[name](arguments.data)
        data_set = replace(data_set, worlds=data_set.worlds[: arguments.worlds])
        rows = []
        for cut, chunker in chunkers(data_set, arguments.gammas, embedder, surprise):
            tokens = sizes(data_set, chunker)
            rows.append(Row(cut, len(tokens), mean(tokens), ask(data_set, chunker, embedder)))
            embedder.save()
            console.print(f"  {name}, {cut}: {len(tokens):,} chunks", style="dim")
        console.print(table(name, rows, messages=data_set.whole))


if __name__ == "__main__":
    main()
