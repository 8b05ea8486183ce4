"""End to end: with half of the messages deferred, how much of the evidence does search no longer find?

    python -m eval.experiments.gate.deferring --data DIR [--sets locomo beam] [--signals NAME …] [--cache DIR]

A signal of eval/experiments/gate/gating.py ranks the messages of each conversation; the last half of them is deferred:
no facts are extracted from it. Then all background work is done and every question asked by search as it ships, of
chunks (its default) and of chunks, facts and triples together. Rows differ in whether the deferred half is embedded,
which it is by default, or found by its words alone (`embedder.deferred = false`). Numbers are evidence recall at 10 in
points, the mean over questions, and the change against writing everything. Nothing was chosen on these numbers but the
gate's settings, on even conversations; claims quote the odd ones.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.gate.gating import HALVES, SIGNALS, Heard, Talk, hear
from eval.experiments.retrieval.retrieval_store import KS, Asking, Ranked, Store
from eval.harness.fakes import IndifferentProxy
from eval.metrics.retrieval_metrics import mean
from eval.tasks.retrieval_sets import SETS, DataSet, World
from nscma_torch import Memory, load_config
from nscma_torch.buffer.gate import GateState, MessageGate
from nscma_torch.buffer.observation import Observation
from nscma_torch.buffer.proxy import RecurrentProxy
from nscma_torch.buffer.salience_head import SalienceHead
from nscma_torch.config import Gate
from nscma_torch.device import torch_device
from nscma_torch.protocols import Embedder
from nscma_torch.records import Decision
from nscma_torch.text.embedder import load_embedder

SHARE = 0.5  # of the messages of each conversation
FIRST = ("composition", "random", "length")  # signals that are asked unless others are named
STRUCTURES: Mapping[str, str] = MappingProxyType({"chunk": "as shipped (chunks)", "mixed": "chunks, facts, triples"})


class RankedGate(MessageGate):
    """Writes what it is told to, message by message in the order in which they come."""

    def __init__(self, writes: Sequence[bool]) -> None:
        super().__init__(Gate(rule="everything"))
        self._writes = iter(writes)

    def decide(self, observation: Observation, state: GateState) -> tuple[Decision, GateState]:
        """The next of the given decisions."""
        write = next(self._writes)
        done = "written" if write else "deferred"
        surprise, information = observation.mean, observation.nats
        return Decision(write, "ranked", float(write), 0.5, f"{done}: as ranked", surprise, information, {}), state


class RankedStore(Store):
    """A data set of which a half is deferred: `writes` are the decisions on its messages, user by user."""

    def __init__(
        self, data_set: DataSet, folder: Path, embedder: CachedEmbedder, writes: Sequence[bool], *, embedded: bool
    ) -> None:
        self._gate = RankedGate(writes)
        self._embedded = embedded
        super().__init__(data_set, folder, embedder, extraction=True, summaries=False)

    def _open(self, retrieval: Mapping[str, Any]) -> Memory:
        sections = {
            "embedder": {"deferred": self._embedded},
            "hierarchy": {"enabled": False},
            "facts": {"units": ["triple", "atomic_fact"]},
            "retrieval": retrieval,
        }
        memory = Memory(self._file, config=load_config(sections), embedder=self._embedder, proxy=IndifferentProxy())
        memory.components.gate = self._gate
        return memory


def heard(world: World, proxy: RecurrentProxy, embedder: Embedder, head: SalienceHead) -> Heard:
    """A conversation as the signals need it."""
    texts = [message.content for message in world.messages]
    return hear(Talk("", texts, [False] * len(texts)), proxy, embedder, head)


def written(scores: Sequence[float], share: float) -> list[bool]:
    """All but that share of the messages, the lowest scores; of equal ones the later is deferred first."""
    order = sorted(range(len(scores)), key=lambda i: (scores[i], -i))
    out = set(order[: round(share * len(order))])
    return [i not in out for i in range(len(scores))]


def measure(
    data_set: DataSet, embedder: CachedEmbedder, writes: Sequence[bool], *, embedded: bool
) -> dict[str, Sequence[Ranked]]:
    """The rankings of every question, by what is searched."""
    with tempfile.TemporaryDirectory() as folder:
        store = RankedStore(data_set, Path(folder), embedder, writes, embedded=embedded)
        return {kind: store.ask(Asking(kind, "auto")) for kind in STRUCTURES}


def recalls(ranked: Sequence[Ranked]) -> dict[str, float]:
    """Recall at 10 by half, in points."""
    at = KS.index(10)
    return {half: 100 * mean([own.recalls[at] for own in ranked if half in ("all", own.asked.half)]) for half in HALVES}


def cells(found: Mapping[str, float], whole: Mapping[str, float]) -> list[str]:
    """Recall of each half, and the change against writing everything."""
    return [f"{found[half]:.1f} ({found[half] - whole[half]:+.1f})" for half in HALVES]


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/ and beam/")
    parser.add_argument("--sets", nargs="+", choices=("locomo", "beam"), default=["locomo"])
    parser.add_argument("--signals", nargs="+", choices=sorted(SIGNALS), default=list(FIRST))
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = load_config(None)
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder, proxy, head = CachedEmbedder(plain, arguments.cache), RecurrentProxy.load(), SalienceHead.load()
    console = Console(width=160)
    for name in arguments.sets:
        data_set = SETS[name](arguments.data)
        talks = [heard(world, proxy, embedder, head) for world in data_set.worlds]
        everything = [True] * sum(len(world.messages) for world in data_set.worlds)
        found = measure(data_set, embedder, everything, embedded=True)
        embedder.save()
        whole = {kind: recalls(ranked) for kind, ranked in found.items()}
        columns = [f"{label}, {half}" for label in STRUCTURES.values() for half in HALVES]
        shown = Table("half deferred by", "embedded", *columns, title=f"{name}: recall at 10 (change)")
        shown.add_row("nothing", "", *(f"{whole[kind][half]:.1f}" for kind in STRUCTURES for half in HALVES))
        for signal in arguments.signals:
            writes = list(chain.from_iterable(written(SIGNALS[signal](talk), SHARE) for talk in talks))
            for embedded in (True, False):
                found = measure(data_set, embedder, writes, embedded=embedded)
                changes = [cells(recalls(ranked), whole[kind]) for kind, ranked in found.items()]
                row = [signal, "all" if embedded else "written half", *chain.from_iterable(changes)]
                shown.add_row(*row)
                console.print("  " + "  ".join(row), style="dim")
        console.print(shown)


if __name__ == "__main__":
    main()
