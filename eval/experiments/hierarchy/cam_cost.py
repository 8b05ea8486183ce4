"""What it costs to bring more chunks into a hierarchy: online as one batch, by rebuilding, and one by one.

    python -m eval.experiments.hierarchy.cam_cost --data DIR [--sizes 2000 10000] [--out DIR] [--cache DIR] \
        [--hierarchy KEY=VALUE …]

A memory of so many chunks of novels, in one batch, is the common start; then come 50 to 800 chunks more, those that
follow in the same novels. Every run goes through the real store: the file is copied, the chunks are added, and
`flush` is timed. A call of the language model is a group of texts handed to `summarize`. Priced seconds count one
second for each call in place of the embedded summariser's time; embedding of the summaries is in them, and done anew
in each run. "Outside" is what is neither language nor embedding: graph, clustering, SQL, and the lexical index.
Seconds depend on the machine; the ratios, and the calls, are the result. `--clock cpu` counts the seconds of this
process alone, without waiting for the disk: for a machine that others use at the same time.
"""

from __future__ import annotations

import argparse
import csv
import math
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.harness.fakes import IndifferentSurpriseModel, MeteredTasks
from eval.tasks.novels import chunk_messages
from nscma_torch import Memory, Message, load_config
from nscma_torch.core.config import Config
from nscma_torch.core.device import torch_device
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.embedders.embedder import load_embedder

BATCHES = (50, 100, 200, 400, 800)
ONLINE, REBUILD, SINGLE = "online", "rebuild", "one by one"
_CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
_SECONDS_PER_CALL = 1.0
_NOW = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Cost:
    """What one way of integrating one batch took; times in seconds."""

    way: str
    size: int
    batch: int
    calls: int
    raw: float
    language: float
    embedding: float

    @property
    def priced(self) -> float:
        """Seconds outside language calls, and one for each call."""
        return self.raw - self.language + _SECONDS_PER_CALL * self.calls

    @property
    def outside(self) -> float:
        """Share of the priced seconds that is neither language nor embedding."""
        return (self.raw - self.language - self.embedding) / self.priced


class Bench:
    """Measures on stores in a folder of its own."""

    def __init__(self, folder: Path, config: Config, embedder: CachedEmbedder, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._config = config
        self._embedder = embedder
        self._clock = clock

    def build(self, messages: Sequence[Message]) -> tuple[Path, Cost]:
        """A store of these chunks, integrated in one batch, and what that took."""
        store = self._folder / f"{len(messages)}.db"
        with self._opened(store) as (memory, tasks):
            _add(memory, messages)
            cost = self._flushed(memory, tasks, REBUILD, 0, len(messages))
        return store, cost

    def online(self, base: Path, size: int, more: Sequence[Message]) -> Cost:
        """The new chunks as one batch."""
        with self._copy(base) as (memory, tasks):
            _add(memory, more)
            return self._flushed(memory, tasks, ONLINE, size, len(more))

    def rebuild(self, base: Path, size: int, more: Sequence[Message]) -> Cost:
        """Everything anew, old chunks and new ones in one batch."""
        with self._copy(base) as (memory, tasks):
            _add(memory, more)
            memory.rebuild(user_id="reader")
            return self._flushed(memory, tasks, REBUILD, size, len(more))

    def one_by_one(self, base: Path, size: int, more: Sequence[Message]) -> Iterator[Cost]:
        """Each new chunk alone; what the first 50, 100, … took together."""
        calls, raw, language, embedding = 0, 0.0, 0.0, 0.0
        with self._copy(base) as (memory, tasks):
            for count, message in enumerate(more, start=1):
                _add(memory, [message])
                cost = self._flushed(memory, tasks, SINGLE, size, 1)
                calls, raw = calls + cost.calls, raw + cost.raw
                language, embedding = language + cost.language, embedding + cost.embedding
                if count in BATCHES:
                    yield Cost(SINGLE, size, count, calls, raw, language, embedding)

    @contextmanager
    def _opened(self, store: Path) -> Iterator[tuple[Memory, MeteredTasks]]:
        tasks = MeteredTasks(EmbeddedTasks(summary_words=self._config.hierarchy.summary_words), clock=self._clock)
        parts: dict[str, Any] = {
            "embedder": self._embedder,
            "surprise_model": IndifferentSurpriseModel(),
            "tasks": tasks,
        }
        with Memory(store, config=self._config, **parts) as memory:
            yield memory, tasks
            if failures := memory.stats().failures:
                raise RuntimeError(f"integration failed: {failures[0]}")

    @contextmanager
    def _copy(self, base: Path) -> Iterator[tuple[Memory, MeteredTasks]]:
        store = base.with_suffix(".copy.db")
        shutil.copyfile(base, store)
        with self._opened(store) as opened:
            yield opened
        for file in store.parent.glob(f"{store.name}*"):
            file.unlink()

    def _flushed(self, memory: Memory, tasks: MeteredTasks, way: str, size: int, batch: int) -> Cost:
        calls, language, embedding = tasks.calls, tasks.seconds, self._embedder.seconds
        began = self._clock()
        memory.flush()
        raw = self._clock() - began
        language, embedding = tasks.seconds - language, self._embedder.seconds - embedding
        return Cost(way, size, batch, tasks.calls - calls, raw, language, embedding)


def _add(memory: Memory, messages: Sequence[Message]) -> None:
    for _ in memory.add_many(messages, user_id="reader", now=_NOW):
        continue


def measure(bench: Bench, messages: Sequence[Message], size: int, console: Console) -> list[Cost]:
    """All ways and batches on a memory of the first `size` chunks."""
    base, built = bench.build(messages[:size])
    console.print(f"{size:,} chunks in one batch: {built.calls:,} summaries, {built.raw:.1f} s")
    costs: list[Cost] = []
    for batch in BATCHES:
        more = messages[size : size + batch]
        costs += [bench.online(base, size, more), bench.rebuild(base, size, more)]
        for cost in costs[-2:]:
            console.print(f"  {batch} {cost.way}: {cost.calls:,} summaries, {cost.raw:.1f} s")
    for cost in bench.one_by_one(base, size, messages[size : size + max(BATCHES)]):
        costs.append(cost)
        console.print(f"  {cost.batch} one by one: {cost.calls:,} summaries, {cost.raw:.1f} s")
    return costs


def table(costs: Sequence[Cost]) -> Table:
    """One row for each way and batch; ratios are to online."""
    columns = ("memory", "batch", "way", "calls", "raw s", "language s", "embedding s", "priced s", "outside")
    found = Table(*columns, "calls / online", "priced / online")
    for cost in sorted(costs, key=lambda cost: (cost.size, cost.batch)):
        online = next(c for c in costs if (c.way, c.size, c.batch) == (ONLINE, cost.size, cost.batch))
        seconds = (f"{s:.2f}" for s in (cost.raw, cost.language, cost.embedding, cost.priced))
        ratios = (f"{ratio:.1f}x" for ratio in (cost.calls / online.calls, cost.priced / online.priced))
        names = (f"{cost.size:,}", f"{cost.batch}", cost.way, f"{cost.calls:,}")
        found.add_row(*names, *seconds, f"{cost.outside:.1%}", *ratios, end_section=cost.way == SINGLE)
    return found


def growth(costs: Sequence[Cost], size: int) -> float:
    """The exponent by which online's priced seconds grow with the batch; below 1 is sublinear."""
    own = {cost.batch: cost.priced for cost in costs if cost.way == ONLINE and cost.size == size}
    least, most = min(own), max(own)
    return math.log(own[most] / own[least]) / math.log(most / least)


def plot(costs: Sequence[Cost], path: Path) -> None:
    """Priced seconds against the batch, a panel for each memory."""
    from matplotlib.figure import Figure

    sizes = sorted({cost.size for cost in costs})
    figure = Figure(figsize=(4.6 * len(sizes), 4.0), layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    styles = {SINGLE: ("#b5532c", "^"), REBUILD: ("#6b6b6b", "s"), ONLINE: ("#1f5fa8", "o")}
    for panel, size in zip(panels, sizes, strict=True):
        for way, (color, marker) in styles.items():
            own = sorted((cost.batch, cost.priced) for cost in costs if (cost.way, cost.size) == (way, size))
            panel.plot(*zip(*own, strict=True), color=color, marker=marker, linewidth=1.8, label=way)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(BATCHES, [str(batch) for batch in BATCHES])
        panel.minorticks_off()
        panel.set_title(f"memory of {size:,} chunks")
        panel.set_xlabel("new chunks")
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds, 1 s for each summary")
    panels[0].legend(frameon=False)
    figure.suptitle("Cost of integrating a batch into the CAM hierarchy")
    figure.savefig(path, dpi=160)


def write_csv(costs: Sequence[Cost], path: Path) -> None:
    """Every measurement, a row each."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*asdict(costs[0]), "priced", "outside"])
        writer.writeheader()
        writer.writerows({**asdict(cost), "priced": cost.priced, "outside": cost.outside} for cost in costs)


def main() -> None:
    """Print the table; with --out, write plot and CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds novels/")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 10_000], help="chunks of the memories")
    parser.add_argument("--out", type=Path, help="folder for cam_cost.png and cam_cost.csv")
    parser.add_argument("--hierarchy", nargs="+", default=[], help="keys of [hierarchy], as TOML: neighbours=5")
    parser.add_argument("--cache", type=Path, help="folder that keeps the vectors of the chunks for the next run")
    parser.add_argument("--clock", choices=_CLOCKS, default="wall", help="which seconds are counted")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    console = Console(width=160)
    hierarchy = {"batch_size": max(arguments.sizes) + max(BATCHES), **tomllib.loads("\n".join(arguments.hierarchy))}
    config = load_config({"gate": {"rule": "everything"}, "hierarchy": hierarchy})
    plain = load_embedder(config.embedder, torch_device(config.device))
    clock = _CLOCKS[arguments.clock]
    embedder = CachedEmbedder(plain, arguments.cache, clock=clock)
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens)
    messages = chunk_messages(arguments.data, max(arguments.sizes) + max(BATCHES), chunker)
    embedder.embed([message.content for message in messages])
    embedder.save()
    embedder.learning = False
    costs: list[Cost] = []
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            costs += measure(Bench(Path(folder), config, embedder, clock), messages, size, console)
    console.print(table(costs))
    for size in arguments.sizes:
        console.print(f"{size:,} chunks: online grows with the batch to the power of {growth(costs, size):.2f}")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        plot(costs, arguments.out / "cam_cost.png")
        write_csv(costs, arguments.out / "cam_cost.csv")


if __name__ == "__main__":
    main()
