"""Whether a hierarchy that grew in batches is as good as one that was built at once, on ODSum and QMSum.

    python -m eval.experiments.hierarchy.cam_stability --data DIR [--corpora NAME …] [--hierarchy KEY=VALUE …] \
        [--cache DIR]

The documents of a corpus go in, in order, in 1, 4 or 16 parts, each part integrated before the next comes. Compared
with the hierarchy of one batch: the overlapping NMI of the clusters of chunks, and evidence recall through the
hierarchy: the 10 nodes above the chunks whose summaries are nearest to the question, then their members by cosine.
"Chunks" ranks all chunks by cosine, without a hierarchy. ODSum's evidence is documents, and its recall counts the
distinct documents of the ranked chunks; QMSum's is the chunks that overlap the turns given. Settings were tuned on
even-indexed questions; claims quote the odd ones.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from eval.caches.embedding_cache import CachedEmbedder
from eval.harness.fakes import IndifferentProxy, MeteredTasks
from eval.metrics.retrieval_metrics import mean, overlapping_nmi, recall_at
from eval.tasks import odsum, qmsum
from eval.tasks.corpus import Corpus, Document, Span
from nscma_torch import Memory, Message, load_config
from nscma_torch.device import torch_device
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.storage import hierarchies, packed_vectors, units
from nscma_torch.text.embedder import load_embedder

CORPORA: dict[str, Callable[[Path], Corpus]] = {
    "meeting": odsum.load_meetings,
    "story": odsum.load_stories,
    "qmsum-val": lambda data: qmsum.load(data, "val"),
    "qmsum-test": lambda data: qmsum.load(data, "test"),
}
_KS = (5, 10, 20)
_NODES = 10
_HALVES: dict[str, slice] = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}
_NOW = datetime(2024, 1, 1, tzinfo=UTC)

Recalls = list[list[float]]  # of each question, at each of _KS


@dataclass(frozen=True)
class Built:
    """A hierarchy as it was stored, and what it took.

    Attributes:
        nodes: their number on each level, the chunks' first.
        chunks: where each chunk stands, in order.
        vectors: [n, d] of the chunks.
        clusters: of each node of level 1, its chunks.
        summaries: [u, d], one row or more for each node of level 1; `of_node` [u] says which.
        calls: summaries written on the way.
    """

    nodes: tuple[int, ...]
    chunks: list[Span]
    vectors: Tensor
    clusters: list[tuple[int, ...]]
    summaries: Tensor
    of_node: Tensor
    calls: int

    def dense(self, query: Tensor) -> list[int]:
        """All chunks by cosine."""
        return torch.argsort(self.vectors @ query, descending=True, stable=True).tolist()

    def through(self, query: Tensor) -> list[int]:
        """Members of the nearest nodes, by cosine; a node is as near as its nearest unit."""
        scores = torch.full((len(self.clusters),), -torch.inf)
        scores.scatter_reduce_(0, self.of_node, self.summaries @ query, "amax")
        nearest = torch.argsort(scores, descending=True, stable=True)[:_NODES].tolist()
        members = sorted({chunk for node in nearest for chunk in self.clusters[node]})
        order = torch.argsort(self.vectors[members] @ query, descending=True, stable=True).tolist()
        return [members[i] for i in order]


def build(corpus: Corpus, batches: int, hierarchy: Mapping[str, Any], embedder: CachedEmbedder) -> Built:
    """The hierarchy of a corpus whose documents come in so many parts."""
    settings = {"batch_size": len(corpus.documents), **hierarchy}
    config = load_config({"gate": {"rule": "everything"}, "hierarchy": settings})
    tasks = MeteredTasks(EmbeddedTasks(summary_words=config.hierarchy.summary_words))
    parts: dict[str, Any] = {"embedder": embedder, "proxy": IndifferentProxy(), "tasks": tasks}
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "store.db", config=config, **parts) as memory:
        place: dict[str, int] = {}
        for some in split(corpus.documents, batches):
            messages = [Message("document", document.text, source=document.name) for document in some]
            for added in memory.add_many(messages, user_id="reader", now=_NOW):
                place[added.id] = len(place)
            memory.flush()
        if failures := memory.stats().failures:
            raise RuntimeError(f"integration failed: {failures[0]}")
        return _read(memory, place, tasks.calls)


def split(documents: Sequence[Document], batches: int) -> list[list[Document]]:
    """Consecutive parts of about the same number of characters, in order."""
    total = sum(len(document.text) for document in documents)
    parts: list[list[Document]] = [[] for _ in range(batches)]
    before = 0
    for document in documents:
        parts[(before + len(document.text) // 2) * batches // total].append(document)
        before += len(document.text)
    return [part for part in parts if part]


def _read(memory: Memory, place: Mapping[str, int], calls: int) -> Built:
    with memory.components.database.read("reader") as connection:
        stored = hierarchies.load(connection, "reader", None)
        said = hierarchies.units_of(connection, stored.id)
        seqs = [seq for own in said.values() for seq in own]
        vectors = packed_vectors.vectors_of(connection, seqs)
        found = units.load(connection, "reader", [own[0] for (level, _), own in said.items() if level == 0])
    chunks = {
        number: Span(place[found[own[0]].episode_ids[0]], found[own[0]].start, found[own[0]].end)
        for (level, number), own in said.items()
        if level == 0
    }
    numbers = sorted(chunks, key=lambda number: (chunks[number].document, chunks[number].start))
    row = {number: i for i, number in enumerate(numbers)}
    above = sorted(stored.levels[1].nodes)
    members: dict[int, set[int]] = {number: set() for number in above}
    for _, node, label in stored.levels[0].personas:
        if label in members:
            members[label].add(row[node])
    of_node = [i for i, number in enumerate(above) for _ in said[1, number]]
    return Built(
        tuple(len(level.nodes) for level in stored.levels),
        [chunks[number] for number in numbers],
        _stacked([vectors[said[0, number][0]] for number in numbers]),
        [tuple(sorted(members[number])) for number in above],
        _stacked([vectors[seq] for number in above for seq in said[1, number]]),
        torch.tensor(of_node),
        calls,
    )


def _stacked(vectors: Sequence[np.ndarray[Any, np.dtype[np.float32]]]) -> Tensor:
    return torch.from_numpy(np.stack(vectors))


def recalls(corpus: Corpus, built: Built, queries: Sequence[Tensor], ranked: Callable[[Tensor], list[int]]) -> Recalls:
    """Recall of each question's evidence in a ranking of the chunks."""
    found = []
    for question, query in zip(corpus.questions, queries, strict=True):
        order = ranked(query)
        if corpus.whole_documents:
            order = list(dict.fromkeys(built.chunks[chunk].document for chunk in order))
            evidence = {span.document for span in question.evidence}
        else:
            evidence = {i for i, chunk in enumerate(built.chunks) if any(chunk.overlaps(s) for s in question.evidence)}
        found.append([recall_at(order, evidence, k) for k in _KS])
    return found


@dataclass(frozen=True)
class Row:
    """One hierarchy of one corpus; for the ranking without a hierarchy, `clusters` and `batches` are "-"."""

    corpus: str
    clusters: str
    batches: str
    nodes: str
    calls: str
    nmi: str
    recalls: Mapping[str, list[float]]  # of each half, at each of _KS


def measure(
    corpus: Corpus, batches: Sequence[int], hierarchy: Mapping[str, Any], embedder: CachedEmbedder
) -> Iterator[Row]:
    """All chunks by cosine; then, with overlapping clusters and without, each number of batches."""
    queries = [embedder.embed_query(question.text) for question in corpus.questions]
    for overlapping in (True, False):
        at_once: Built | None = None
        for count in batches:
            built = build(corpus, count, {**hierarchy, "overlapping": overlapping}, embedder)
            if at_once is None:
                at_once = built
                if overlapping:
                    dense = _by_half(recalls(corpus, built, queries, built.dense))
                    yield Row(corpus.name, "-", "-", f"{len(built.chunks):,}", "", "", dense)
            yield Row(
                corpus.name,
                "overlapping" if overlapping else "disjoint",
                str(count),
                " ".join(f"{n:,}" for n in built.nodes),
                f"{built.calls:,}",
                f"{overlapping_nmi(at_once.clusters, built.clusters, len(built.chunks)):.3f}",
                _by_half(recalls(corpus, built, queries, built.through)),
            )


def _by_half(values: Recalls) -> dict[str, list[float]]:
    """Macro averages at each k."""
    return {half: [mean([v[i] for v in values[where]]) for i in range(len(_KS))] for half, where in _HALVES.items()}


def averages(rows: Sequence[Row]) -> Iterator[Row]:
    """The mean over the corpora of each setting."""
    for clusters, batches in dict.fromkeys((row.clusters, row.batches) for row in rows):
        own = [row.recalls for row in rows if (row.clusters, row.batches) == (clusters, batches)]
        averaged = {half: [mean([r[half][i] for r in own]) for i in range(len(_KS))] for half in _HALVES}
        yield Row(f"mean of {len(own)}", clusters, batches, "", "", "", averaged)


def table(rows: Sequence[Row], first: int) -> Table:
    """A line each; "kept" is recall, averaged over the three cuts, relative to that of `first` batches."""
    heads = (f"{half} R@{k}" for half in _HALVES for k in _KS)
    shown = Table(
        "corpus", "clusters", "batches", "nodes of each level", "calls", "NMI", *heads, "kept odd", "kept all"
    )
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        cells = [f"{value:.3f}" for half in _HALVES for value in row.recalls[half]]
        last = following is None or (following.corpus, following.clusters) != (row.corpus, row.clusters)
        kept = ["", ""]
        if row.batches != "-":
            at_once = next(
                r for r in rows if (r.corpus, r.clusters, r.batches) == (row.corpus, row.clusters, str(first))
            )
            kept = [f"{sum(row.recalls[half]) / sum(at_once.recalls[half]):.1%}" for half in ("odd", "all")]
        names = (row.corpus, row.clusters, row.batches, row.nodes, row.calls, row.nmi)
        shown.add_row(*names, *cells, *kept, end_section=last)
    return shown


def main() -> None:
    """Print one row for each corpus, ablation and number of batches, then their means over the corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds odsum/ and qmsum/")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA), help="which corpora to run")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 16], help="parts; the first is compared with")
    parser.add_argument("--hierarchy", nargs="+", default=[], help="keys of [hierarchy], as TOML: neighbours=5")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    console = Console(width=200)
    hierarchy = tomllib.loads("\n".join(arguments.hierarchy))
    config = load_config({"hierarchy": hierarchy})
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder = CachedEmbedder(plain, arguments.cache)
    rows: list[Row] = []
    for name in arguments.corpora:
        corpus = CORPORA[name](arguments.data)
        dropped = f"; malformed evidence, dropped: {sorted(set(corpus.malformed))}" if corpus.malformed else ""
        console.print(f"{corpus.name}: {len(corpus.documents)} documents, {len(corpus.questions)} questions{dropped}")
        for row in measure(corpus, arguments.batches, hierarchy, embedder):
            rows.append(row)
            if row.batches != "-":
                console.print(f"  {row.clusters}, {row.batches} batches: {row.calls} summaries, NMI {row.nmi}")
            embedder.save()
    console.print(table(rows, arguments.batches[0]))
    console.print(table(list(averages(rows)), arguments.batches[0]))


if __name__ == "__main__":
    main()
