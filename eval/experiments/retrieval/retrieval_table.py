"""Evidence recall of every structure and strategy of search, beside BM25, dense, their RRF and ChromaDB.

    python -m eval.experiments.retrieval.retrieval_table --data DIR [--sets NAME …] [--strategies NAME …] [--kinds \
        NAME …] [--limit N] [--noise SHARE] [--cache DIR]

The store of a data set is made once, with the gate off, and every row is asked of it. Recall is the share of a
question's evidence in the first 5 or 10 places of the ranking, averaged over questions;
`eval/metrics/evidence_places.py` says what a place is. The baselines rank the same chunks, after the name of who
speaks: plain BM25, cosine and RRF (see eval/systems/plain_retrieval.py), and ChromaDB given the same vectors (see
eval/systems/chroma.py for its virtual environment). Lanes are those of our search, alone. The summaries, facts and
links that a row needs are made by the embedded tasks. Choices were made on the even half; claims quote the odd one.
Milliseconds are the median of a search without the embedding of the question: they depend on the machine, and are for
orientation.

`--noise 1` strews as many messages of unrelated text, out of the novels, among those of each user
(`eval/tasks/noise.py`).

`--limit` asks a sample: questions of each half at even distances over all users, the same in every run. One question
of 30 in a half is three points, so small differences mean nothing. With vectors in the cache, the stores of all sets
take about a third of an hour to make, and every row at `--limit 60` about as long to ask; BEAM and ODSum are most of
both.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.retrieval.retrieval_store import CHROMA, KINDS, KS, LANES, SEARCHES, Asking, Ranked, Store
from eval.metrics.retrieval_metrics import mean
from eval.reporting.measures import Measure, average
from eval.systems.plain_retrieval import PLAIN
from eval.tasks.background import Background
from eval.tasks.retrieval_sets import SETS, DataSet, sampled, with_noise
from nscma_torch import load_config
from nscma_torch.core.device import torch_device
from nscma_torch.text.embedders.embedder import load_embedder

HALVES = ("even", "odd", "all")


@dataclass(frozen=True)
class Row:
    """One structure and strategy on a data set, or on one category of it: recall by half, at each of `KS`.

    `odd` is recall at `KS[-1]` over the odd questions with its interval of 95 %.
    """

    data_set: str
    structure: str
    strategy: str
    questions: int
    recall: Mapping[str, list[float]]
    search_ms: float
    odd: Measure


def askings(strategies: Sequence[str], kinds: Sequence[str]) -> list[Asking]:
    """The rows of a table: each baseline over chunks, each strategy over every structure that it can answer with."""
    over_chunks = [name for name in strategies if name not in SEARCHES]
    searches = [name for name in strategies if name in SEARCHES]
    rows = [Asking(kind, name) for kind in kinds for name in searches if name != "traversal" or "chunk" in KINDS[kind]]
    return [Asking("chunk", name) for name in over_chunks] + rows


def measure(
    data_set: DataSet, rows: Sequence[Asking], embedder: CachedEmbedder, peer_python: Path | None
) -> Iterator[Row]:
    """Make the store that these rows need, and ask it in every way; ChromaDB needs `peer_python`."""
    needs = {
        "extraction": any(asking.needs_extraction for asking in rows),
        "summaries": any(asking.needs_summaries for asking in rows),
    }
    with tempfile.TemporaryDirectory() as folder:
        store = Store(data_set, Path(folder), embedder, **needs)
        for asking in rows:
            if asking.strategy != CHROMA:
                yield from summarised(data_set.name, asking, store.ask(asking))
            elif peer_python is not None:
                yield from summarised(data_set.name, asking, store.ask_chroma(peer_python))


def summarised(name: str, asking: Asking, ranked: Sequence[Ranked]) -> Iterator[Row]:
    """A row for all questions, then one for each category, where there are several."""
    yield _row(name, asking, ranked)
    categories = sorted({own.asked.category for own in ranked})
    for category in categories if len(categories) > 1 else ():
        yield _row(f"{name} {category}", asking, [own for own in ranked if own.asked.category == category])


def _row(name: str, asking: Asking, ranked: Sequence[Ranked]) -> Row:
    of_half = {half: [own.recalls for own in ranked if half in ("all", own.asked.half)] for half in HALVES}
    recall = {half: [mean([own[i] for own in values]) for i in range(len(KS))] for half, values in of_half.items()}
    median = statistics.median(own.ms for own in ranked)
    odd = average(f"odd R@{KS[-1]}", {"": [values[-1] for values in of_half["odd"]]})
    return Row(name, asking.structure, asking.strategy, len(ranked), recall, median, odd)


def table(rows: Sequence[Row]) -> Table:
    """A line each, data set by data set; the best of each column of a data set is bold."""
    columns = [f"{half} R@{k}" for half in HALVES for k in KS]
    shown = Table("data set", "structure", "strategy", "n", *columns, "odd n", f"odd R@{KS[-1]}, 95 %", "p50 ms")
    for name in dict.fromkeys(row.data_set for row in rows):
        own = [row for row in rows if row.data_set == name]
        asked = [half for half in HALVES if not math.isnan(own[0].recall[half][0])]
        cells = [[f"{v:.3f}" if half in asked else "" for half in HALVES for v in row.recall[half]] for row in own]
        best = [max(column) or None for column in zip(*cells, strict=True)]
        for row, values in zip(own, cells, strict=True):
            marked = [f"[bold]{value}[/]" if value == top else value for value, top in zip(values, best, strict=True)]
            told = (row.data_set, row.structure, row.strategy, str(row.questions))
            bounds = f"[{row.odd.low:.3f}, {row.odd.high:.3f}]" if row.odd.n > 1 else ""
            shown.add_row(*told, *marked, str(row.odd.n), bounds, f"{row.search_ms:.1f}", end_section=row is own[-1])
    return shown


def main() -> None:
    """Print the table, and write its rows as JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/, beam/, multihop/, …")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="data sets")
    names = [*PLAIN, CHROMA, *LANES, *SEARCHES]
    parser.add_argument("--strategies", nargs="+", choices=names, default=names, help="strategies, lanes, baselines")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="structures that are searched")
    parser.add_argument("--limit", type=int, help="ask only so many questions of each set, evenly spaced")
    parser.add_argument("--noise", type=float, default=0.0, help="messages of unrelated text for each of a user's own")
    parser.add_argument("--peer-python", type=Path, help="interpreter of ChromaDB's virtual environment")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--out", type=Path, help="file for the rows, JSON")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    console = Console(width=190)
    if CHROMA in arguments.strategies and arguments.peer_python is None:
        console.print(f"{CHROMA} is left out: name its interpreter with --peer-python")
    config = load_config(None)
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder = CachedEmbedder(plain, arguments.cache)
    rows: list[Row] = []
    for name in arguments.sets:
        data_set = SETS[name](arguments.data)
        if arguments.limit is not None:
            data_set = sampled(data_set, arguments.limit)
        if arguments.noise:
            data_set = with_noise(data_set, arguments.noise, Background(arguments.data / "novels"))
        console.print(_described(data_set))
        for row in measure(data_set, askings(arguments.strategies, arguments.kinds), embedder, arguments.peer_python):
            rows.append(row)
            embedder.save()
            console.print(f"  {row.structure}, {row.strategy}: {row.recall['all'][-1]:.3f} {row.data_set}", style="dim")
        if arguments.out is not None:
            described = {"config": config.model_dump(mode="json"), "rows": [asdict(row) for row in rows]}
            arguments.out.write_text(json.dumps(described, indent=1), encoding="utf-8")
    console.print(table(rows))


def _described(data_set: DataSet) -> str:
    messages = sum(len(world.messages) for world in data_set.worlds)
    questions = sum(len(world.questions) for world in data_set.worlds)
    counts = f"{data_set.name}: {len(data_set.worlds)} users, {messages:,} messages, {questions:,} questions"
    if not data_set.malformed:
        return counts
    return f"{counts}; malformed, dropped: {len(data_set.malformed)} ({', '.join(data_set.malformed[:3])}, …)"


if __name__ == "__main__":
    main()
