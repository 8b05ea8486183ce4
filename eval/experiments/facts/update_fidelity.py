"""Do facts stay true? Generated dialogues in which facts change, judged by their values now and at an earlier time.

    python -m eval.experiments.facts.update_fidelity [--chains 500] [--seed 0] [--half dev|test] [--errors]
    python -m eval.experiments.facts.update_fidelity --paraphrases dev|test [--each 3] [--errors]
    python -m eval.experiments.facts.update_fidelity --figure

The first speaks the plain sentences of `eval/data/statements/plain.toml`. `now` and `past` are `Memory.facts`, the past
one with `as_of` at a time between two statements; `ask` is `Memory.ask` for the value now.
`eval.experiments.facts.update_verdicts` says what is right, wrong or abstained; here `wrong` has the stale ones too,
`none` are abstained. Beside it are vectors on the same messages and questions, see `eval.systems.newest_chunk`.

The second has a free paraphrase as each chain's last statement: `stale` is one that was not understood while the value
before still stands. The third is Figure 1 of the NSCMA paper, in English and Chinese.

The test half, of names and values and of paraphrases, was not looked at in development.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.facts.update_verdicts import LIGHT, Outcome, Verdict, remember
from eval.harness.fakes import IndifferentSurpriseModel
from eval.metrics.retrieval_metrics import mean
from eval.systems.newest_chunk import Reading, readings
from eval.tasks.plain_statements import load_plain
from eval.tasks.update_chains import World, generate, paraphrased
from nscma_torch import Memory, load_config
from nscma_torch.core.device import torch_device
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Message
from nscma_torch.reading.relations import load_relations
from nscma_torch.text.embedders.embedder import load_embedder

STATEMENTS = Path(__file__).parents[2] / "data" / "statements"
_VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "stale", "abstained")
_PARTS: dict[str, Callable[[Outcome], Verdict]] = {
    "now": lambda o: o.now,
    "past": lambda o: o.past,
    "ask": lambda o: o.asked,
}


def share(outcomes: Sequence[Outcome], part: str, *verdicts: Verdict) -> float:
    """Share of chains with one of these verdicts on "now", "past" or "ask"."""
    return mean([float(_PARTS[part](outcome) in verdicts) for outcome in outcomes])


def plain_table(outcomes: Sequence[Outcome], beside: Sequence[tuple[Reading, Reading]]) -> Table:
    """A row for each relation, each scenario, and all."""
    vectors = ("newest of 3 now", "past", "nearest now", "past")
    table = Table("relation", "chains", *(f"{part} {what}" for part in _PARTS for what in ("right", "wrong", "none")))
    for heading in ("archived wrongly", *(vectors if beside else ())):
        table.add_column(heading)
    for key in (lambda o: o.chain.relation.name, lambda o: f"({o.chain.scenario})"):
        for name in dict.fromkeys(map(key, outcomes)):
            _row(table, name, [i for i, outcome in enumerate(outcomes) if key(outcome) == name], outcomes, beside)
        table.add_section()
    _row(table, "all", range(len(outcomes)), outcomes, beside)
    return table


def _row(
    table: Table,
    name: str,
    places: Sequence[int],
    outcomes: Sequence[Outcome],
    beside: Sequence[tuple[Reading, Reading]],
) -> None:
    some = [outcomes[i] for i in places]
    cells = [
        f"{share(some, part, *verdicts):.3f}"
        for part in _PARTS
        for verdicts in (("right",), ("wrong", "stale"), ("abstained",))
    ]
    cells.append(str(sum(len(outcome.archived_wrongly) for outcome in some)))
    if beside:
        both = [beside[i] for i in places]
        cells += [
            f"{mean([float(now.newest) for now, _ in both]):.3f}",
            f"{mean([float(past.newest) for _, past in both]):.3f}",
        ]
        cells += [
            f"{mean([float(now.nearest) for now, _ in both]):.3f}",
            f"{mean([float(past.nearest) for _, past in both]):.3f}",
        ]
    table.add_row(name, str(len(some)), *cells)


def paraphrase_table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each kind of paraphrase, each relation, and all."""
    table = Table("paraphrases", "chains", *(f"{part} {verdict}" for part in ("now", "ask") for verdict in _VERDICTS))
    for key in (lambda o: f"({o.chain.scenario})", lambda o: o.chain.relation.name, lambda _: "all"):
        for name in dict.fromkeys(map(key, outcomes)):
            some = [outcome for outcome in outcomes if key(outcome) == name]
            cells = [f"{share(some, part, verdict):.3f}" for part in ("now", "ask") for verdict in _VERDICTS]
            table.add_row(name, str(len(some)), *cells)
        table.add_section()
    return table


@dataclass(frozen=True)
class Figure:
    """One telling of Figure 1: the favourite colour was red and is blue."""

    name: str
    said: tuple[str, ...]
    question: str
    red: str
    blue: str


_RED_TO_BLUE = "I changed my favourite colour from red to blue."
_RED_TO_BLUE_ZH = "我把喜欢的颜色从红色改成了蓝色。"
FIGURES = (
    Figure("English", (_RED_TO_BLUE,), "What is my favourite colour?", "red", "blue"),
    Figure(
        "English, red told before",
        ("My favourite colour is red.", _RED_TO_BLUE),
        "What is my favourite colour?",
        "red",
        "blue",
    ),
    Figure("Chinese", (_RED_TO_BLUE_ZH,), "我最喜欢的颜色是什么？", "红色", "蓝色"),
    Figure("Chinese, red told before", ("我喜欢的颜色是红色。", _RED_TO_BLUE_ZH), "我喜欢什么颜色？", "红色", "蓝色"),
)


def holds(figure: Figure, folder: Path) -> tuple[bool, str]:
    """Whether blue is current, red in the archive, and the answer names blue alone; and what is there."""
    began = datetime(2025, 3, 3, 9, tzinfo=UTC)
    messages = [Message("user", text, began + timedelta(days=i)) for i, text in enumerate(figure.said)]
    asked_at = began + timedelta(days=30)
    with Memory(folder / f"{figure.name}.db", config=LIGHT, surprise_model=IndifferentSurpriseModel()) as memory:
        memory.add(messages, user_id="reader", now=asked_at)
        memory.flush()
        facts = memory.facts(user_id="reader", subject="user", archived=True)
        answer = memory.ask(figure.question, user_id="reader", now=asked_at)
    status = {fact.object: fact.status for fact in facts if fact.relation in ("favourite", "likes")}
    right = status == {figure.red: "archived", figure.blue: "active"} and answer.text == figure.blue
    return right, f"{status}; {figure.question} {answer.text}"


def print_errors(console: Console, outcomes: Iterable[Outcome]) -> None:
    """Every chain that is not right in all parts."""
    for outcome in outcomes:
        parts = {part: verdict_of(outcome) for part, verdict_of in _PARTS.items()}
        if set(parts.values()) != {"right"} or outcome.archived_wrongly:
            chain = outcome.chain
            late = {message.content for message in chain.late}
            console.print(f"\n{chain.name} ({chain.scenario}) {chain.subject} {chain.topic}: {parts}", highlight=False)
            for text in chain.said:
                console.print(f"    {text}{'   [late]' if text in late else ''}", highlight=False, markup=False)
            for name, expected, given in zip(
                _PARTS, (chain.current, chain.past, chain.current), outcome.shown, strict=True
            ):
                console.print(
                    f"    {name}: expected {sorted(expected) or 'nothing'}, given {given}",
                    highlight=False,
                    markup=False,
                )
            if outcome.archived_wrongly:
                console.print(f"    archived wrongly: {outcome.archived_wrongly}", highlight=False)
    counts = Counter(verdict_of(outcome) for outcome in outcomes for verdict_of in _PARTS.values())
    console.print(f"\n{dict(counts)}\n", highlight=False)


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=500, help="how many chains of plain sentences")
    parser.add_argument("--seed", type=int, default=0, help="of the chains")
    parser.add_argument("--half", choices=("dev", "test"), default="test", help="names and values")
    parser.add_argument("--paraphrases", choices=("dev", "test"), help="chains that end in a free paraphrase instead")
    parser.add_argument("--each", type=int, default=3, help="chains for each paraphrase")
    parser.add_argument("--figure", action="store_true", help="Figure 1 of the paper instead")
    parser.add_argument("--errors", action="store_true", help="print every chain that is not right")
    parser.add_argument("--cache", type=Path, help="folder where vectors are kept from run to run")
    parser.add_argument("--no-vectors", action="store_true", help="leave out the vectors beside")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    console = Console(width=200)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.figure:
            table = Table("Figure 1", "holds", "facts and answer")
            for figure in FIGURES:
                right, seen = holds(figure, Path(folder))
                table.add_row(figure.name, str(right), seen)
            console.print(table)
            return
        world = World(load_relations(), load_plain(), arguments.paraphrases or arguments.half)
        if arguments.paraphrases:
            source = STATEMENTS / f"paraphrases_{arguments.paraphrases}.jsonl"
            outcomes = remember(paraphrased(source, arguments.each, arguments.seed, world), Path(folder))
            table = paraphrase_table(outcomes)
        else:
            chains = generate(arguments.chains, arguments.seed, world)
            outcomes = remember(chains, Path(folder))
            beside: list[tuple[Reading, Reading]] = []
            if not arguments.no_vectors:
                embedder = CachedEmbedder(_embedder(), arguments.cache)
                beside = [readings(chain, embedder) for chain in chains]
                embedder.save()
            table = plain_table(outcomes, beside)
    if arguments.errors:
        print_errors(console, outcomes)
    console.print(table)


def _embedder() -> Embedder:
    config = load_config(None)
    return load_embedder(config.embedder, torch_device(config.device))


if __name__ == "__main__":
    main()
