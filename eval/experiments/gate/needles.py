"""Needles in novels: how much of a novel can the gate defer before it loses the facts that are hidden in it?

    python -m eval.experiments.gate.needles --data DIR [--sentences N] [--facts N]

Each of the 25 novels is a stream, read sentence by sentence, its first N sentences with whole bAbI stories, at least so
many statements, strewn among them at places drawn from a seed, in their order. A signal ranks all sentences; the
threshold, one for all novels of a half as a gate has, is the highest that keeps 99 % of the statements, and `deferred`
the share of the novels' own sentences below it. AUC is the chance that a statement ranks above a sentence of its novel.
bAbI says the same words again when the same happens again, which no signal can tell from a repetition: first statements
of their wording in a stream are counted alone, then all. The last table is the gate at its own threshold. It hears the
sentences without vectors, so without its learned head and its sense of restatements. Nothing was tuned on these data;
halves are novels with an even and an odd index.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from types import MappingProxyType

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.gate.gating import HALVES, SIGNALS, Heard, Talk, decide
from eval.metrics.retrieval_metrics import auc, mean
from eval.tasks import babi, novels
from nscma_torch.buffer.gate import MessageGate
from nscma_torch.buffer.proxy import RecurrentProxy
from nscma_torch.config import Gate
from nscma_torch.encode.gating import Past, gate_messages
from nscma_torch.encode.stages import Stages
from nscma_torch.protocols import Proxy
from nscma_torch.text.sentences import split_sentences

KEPT = 0.99  # of the statements
_LONG = 400  # characters, more than a sentence of any novel has on average
SHOWN = (
    *("random", "length", "paper, (S - mu) / sigma", "paper's S, carried state", "sum NLL", "sum NLL, clamped"),
    *("zlib given history", "cues", "composition"),
)  # of SIGNALS
COUNTED: Mapping[str, str] = MappingProxyType({"first": "first statements", "all": "all statements"})


@dataclass(frozen=True)
class Haystack:
    """The sentences of a novel with statements among them.

    Attributes:
        statement: whether a sentence is one of bAbI's.
        first: whether it is one whose words did not stand in this stream before.
    """

    half: str
    texts: Sequence[str]
    statement: Sequence[bool]
    first: Sequence[bool]

    def counted(self, which: str) -> Sequence[bool]:
        """The statements of a key of `COUNTED`."""
        return self.first if which == "first" else self.statement


def strewn(sentences: Sequence[str], statements: Sequence[str], half: str, generator: random.Random) -> Haystack:
    """The statements, in their order, at random places among the sentences."""
    size = len(sentences) + len(statements)
    places = set(generator.sample(range(size), len(statements)))
    hay, needles = iter(sentences), iter(statements)
    texts = [next(needles) if i in places else next(hay) for i in range(size)]
    seen: set[str] = set()
    first = []
    for i, text in enumerate(texts):
        first.append(i in places and text not in seen)
        if i in places:
            seen.add(text)
    return Haystack(half, texts, [i in places for i in range(size)], first)


def haystacks(data: Path, sentences: int, facts: int) -> list[Haystack]:
    """One for each novel; the stories are taken from the tasks in turn, each story once."""
    tasks = [iter(babi.load(data, task)) for task in babi.TASKS]
    stories = (next(task) for task in cycle(tasks))
    made = []
    for index, novel in enumerate(novels.load(data)):
        text = novel.text[: _LONG * sentences]
        hay = [" ".join(text[span.start : span.end].split()) for span in split_sentences(text)[:sentences]]
        statements: list[str] = []
        while len(statements) < facts:
            statements += [message.content for message in next(stories).messages]
        made.append(strewn(hay, statements, "odd" if index % 2 else "even", random.Random(index)))
    return made


def heard(haystack: Haystack, proxy: Proxy) -> Heard:
    """What the proxy and the gate of each rule make of a haystack; neither vectors nor surprise without state."""
    weighed = gate_messages(haystack.texts, Past(), proxy, MessageGate(Gate()), Stages())
    paper = decide(weighed.observations, Gate(rule="paper"))
    talk = Talk(haystack.half, haystack.texts, haystack.statement)
    decisions = {"composition": weighed.decisions, "paper": paper}
    return Heard(talk, weighed.observations, decisions, [], torch.empty(0))


def deferrable(scores: Sequence[float], needed: Sequence[bool], hay: Sequence[bool], kept: float) -> float:
    """The share of the hay that scores below the highest threshold which that share of the needed still reaches."""
    reached = sorted((score for score, need in zip(scores, needed, strict=True) if need), reverse=True)
    threshold = reached[math.ceil(kept * len(reached)) - 1]
    return mean([float(score < threshold) for score, own in zip(scores, hay, strict=True) if own])


@dataclass(frozen=True)
class Ranking:
    """One signal on one haystack."""

    haystack: Haystack
    scores: Sequence[float]

    @property
    def hay(self) -> list[bool]:
        """Which sentences are the novel's own."""
        return [not statement for statement in self.haystack.statement]

    def auc(self, which: str) -> float:
        """Of statements against the novel's own sentences."""
        labels = self.haystack.counted(which)
        chosen = [i for i, hay in enumerate(self.hay) if hay or labels[i]]
        return auc([self.scores[i] for i in chosen], [labels[i] for i in chosen])


def table(rankings: Mapping[str, Sequence[Ranking]], which: str) -> Table:
    """A line for each signal: AUC, and what can be deferred, by half."""
    columns = [f"{measure}, {half}" for measure in ("AUC", "deferred") for half in HALVES]
    shown = Table(f"{COUNTED[which]}, {KEPT:.0%} kept", *columns)
    for signal, all_of in rankings.items():
        areas, shares = [], []
        for half in HALVES:
            own = [ranking for ranking in all_of if half in ("all", ranking.haystack.half)]
            areas.append(f"{mean([ranking.auc(which) for ranking in own]):.3f}")
            scores = [score for ranking in own for score in ranking.scores]
            needed = [need for ranking in own for need in ranking.haystack.counted(which)]
            hay = [own_of_novel for ranking in own for own_of_novel in ranking.hay]
            shares.append(f"{deferrable(scores, needed, hay, KEPT):.1%}")
        shown.add_row(signal, *areas, *shares)
    return shown


def at_own_threshold(haystacks: Sequence[Haystack], heard: Sequence[Heard]) -> Table:
    """What each rule defers of the novels and keeps of the statements at its own threshold."""
    columns = [f"{measure}, {half}" for half in HALVES for measure in ("deferred", "first kept", "all kept")]
    shown = Table("at its own threshold", *columns)
    for rule in ("composition", "paper"):
        cells = []
        for half in HALVES:
            pairs = [
                (made.write, haystack.statement[i], haystack.first[i])
                for haystack, own in zip(haystacks, heard, strict=True)
                if half in ("all", haystack.half)
                for i, made in enumerate(own.decisions[rule])
            ]
            cells.append(f"{mean([not write for write, statement, _ in pairs if not statement]):.1%}")
            cells.append(f"{mean([write for write, _, first in pairs if first]):.1%}")
            cells.append(f"{mean([write for write, statement, _ in pairs if statement]):.1%}")
        shown.add_row(rule, *cells)
    return shown


def main() -> None:
    """Print a table for first statements, one for all, and one of the gate at its own threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds babi/ and novels/")
    parser.add_argument("--sentences", type=int, default=1000, help="sentences of each novel")
    parser.add_argument("--facts", type=int, default=20, help="least statements hidden in each")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    stacks, proxy = haystacks(arguments.data, arguments.sentences, arguments.facts), RecurrentProxy.load()
    all_heard = [heard(stack, proxy) for stack in stacks]
    console = Console(width=150)
    counts = [sum(sum(stack.counted(which)) for stack in stacks) for which in COUNTED]
    hay = sum(len(stack.texts) for stack in stacks) - counts[1]
    console.print(f"{len(stacks)} novels, {hay:,} sentences, {counts[1]} statements, {counts[0]} of them first ones")
    rankings = {
        signal: [Ranking(stack, SIGNALS[signal](own)) for stack, own in zip(stacks, all_heard, strict=True)]
        for signal in SHOWN
    }
    for which in COUNTED:
        console.print(table(rankings, which))
    console.print(at_own_threshold(stacks, all_heard))


if __name__ == "__main__":
    main()
