"""What the embedded tasks read of labelled exchanges, whose messages are read with the turns before them.

    python -m eval.experiments.facts.exchange_facts [--exchanges DIR] [--relations FILE] [--config FILE] [--alone]
        [--open] [--every N] [--errors] [--sure P...]

A statement is right where a label of its message has its relation, object and subject, and its polarity: what has ended
or is denied is read as negated. `asserted` are the labels that hold, have ended or are denied; of the others, which are
future, wished, supposed, hearsay or fiction, `taken` became a statement. With `--alone` no turn before is read. Open
statements are left out, or with `--open`, over exchanges in which every statement is labelled, are all that is
measured: one is right where a label has its subject, object and some word of its predicate.

With `--sure` only the messages are measured of which the reader is so sure that no language model is asked
(`facts.instead_of_model`), for each P; "spared" is their share of all.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eval.readers.choose_reader import add_config, reader_of
from eval.reporting.shares import wilson
from nscma_torch.core.records import Scope, Statement, Unit
from nscma_torch.reading.asserted_statements import ASSERTED
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.reading.turns_before import TURNS_BEFORE
from train.reader.examples import plain
from train.reader.exchange_examples import subject_wordings
from train.reader.exchange_text import LabelledFact, read_all

FOLDER = Path("train/reader/exchanges/test")
LEVEL = 0.95


class Told(NamedTuple):
    """A message as extraction sees it, the turns before it, whom it speaks to, and its labels."""

    unit: Unit
    before: list[Unit]
    listener: str
    facts: list[LabelledFact]


def messages(folder: Path, schema: Schema, *, open_ones: bool = False) -> Iterator[Told]:
    """The messages of a folder's exchanges, with the labels of the schema's relations or with those of none."""
    for exchange in read_all(folder, schema):
        units = [
            Unit(f"{exchange.id} {i}", Scope("u"), "chunk", m.text, (), m.said_at.replace(tzinfo=UTC), name=m.speaker)
            for i, m in enumerate(exchange.messages)
        ]
        for i, unit in enumerate(units):
            others = [own.name or "" for own in units[:i] if own.name != unit.name]
            facts = [fact for fact in exchange.facts if fact.number == i + 1 and fact.open == open_ones]
            yield Told(unit, units[max(0, i - TURNS_BEFORE) : i], others[-1] if others else "", facts)


def says(statement: Statement, fact: LabelledFact) -> bool:
    """Whether a statement names the relation, the object and the subject of a label."""
    subjects = subject_wordings(fact.subject)
    named = any(_same(statement.subject, wording) for wording in subjects)
    if fact.open:
        related = bool(set(plain(statement.topic).split()) & set(plain(fact.relation).split()))
    else:
        related = statement.relation == fact.relation
    return related and _same(statement.object, fact.object) and named


def agrees(statement: Statement, fact: LabelledFact) -> bool:
    """Whether a statement says what a label that is asserted says."""
    over = fact.stance in ("ended", "denied")
    return says(statement, fact) and fact.stance in ASSERTED and (statement.negated or statement.past) == over


def _same(one: str, other: str) -> bool:
    """Whether all words of one wording are among the other's."""
    a, b = (set(plain(words).replace("-", " ").split()) for words in (one, other))
    return bool(a and b) and (a <= b or b <= a)


def counts(told: Sequence[Told], found: Sequence[Sequence[Statement]]) -> Counter[str]:
    """Statements read and right, asserted labels and those found, others and those taken for facts."""
    totals: Counter[str] = Counter()
    for message, statements in zip(told, found, strict=True):
        for statement in statements:
            replaced = any(f.stance in ("ended", "denied") and says(statement, f) for f in message.facts)
            right = any(agrees(statement, fact) for fact in message.facts)
            totals["read"] += 1
            totals["right"] += right or (replaced and bool(statement.negated))
        for fact in message.facts:
            kind = "asserted" if fact.stance in ASSERTED else "others"
            totals[kind] += 1
            # what a new value replaces needs no statement of its own
            old = any(s.replaces and _same(s.replaces, fact.object) and s.relation == fact.relation for s in statements)
            met = (
                any(agrees(s, fact) for s in statements)
                if kind == "asserted"
                else any(says(s, fact) for s in statements)
            )
            totals["found" if kind == "asserted" else "taken"] += met or (old and fact.stance in ("ended", "denied"))
    return totals


def main() -> None:
    """Print precision, recall, and what was taken for a fact."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exchanges", type=Path, default=FOLDER, help="folder with one of exchanges for each author")
    parser.add_argument("--relations", type=Path, help="the schema of the labels; by default the bundled one")
    parser.add_argument("--alone", action="store_true", help="read each message without the turns before it")
    parser.add_argument("--open", action="store_true", help="measure open statements instead of the schema's")
    parser.add_argument("--errors", action="store_true", help="print every false statement")
    parser.add_argument("--sure", type=float, nargs="+", default=[], metavar="P", help="measure what spares a model")
    parser.add_argument("--every", type=int, default=1, help="read each Nth message")
    add_config(parser)
    arguments = parser.parse_args()
    schema = load_relations(arguments.relations)
    told = list(messages(arguments.exchanges, schema, open_ones=arguments.open))[:: arguments.every]
    before = [[] if arguments.alone else message.before for message in told]
    read = [message.unit for message in told], [message.listener for message in told], before
    with reader_of(schema, arguments.config) as reader:
        if not arguments.sure:
            _report(told, reader.read(*read), schema, arguments)
            if reader.work():
                print(reader.work())
        for least in arguments.sure:
            found = reader.read_surely(*read, least)
            sure = [(message, own) for message, own in zip(told, found, strict=True) if own is not None]
            print(f"sure by {least:g}:")
            print_share("spared", len(sure), len(told))
            if sure:
                _report([message for message, _ in sure], [own for _, own in sure], schema, arguments)


def _report(
    told: Sequence[Told], read: Sequence[tuple[Statement, ...]], schema: Schema, arguments: argparse.Namespace
) -> None:
    found = [tuple(one for one in own if schema[one.relation].open == arguments.open) for own in read]
    if arguments.errors:
        for message, statements in zip(told, found, strict=True):
            for one in statements:
                if not any(agrees(one, fact) for fact in message.facts):
                    said = f"{'not ' * one.negated}{one.subject} | {one.relation} {one.topic} | {one.object}"
                    print(f"{said}   in: {message.unit.text}")
    print_scores(told, found)


def print_scores(told: Sequence[Told], found: Sequence[Sequence[Statement]]) -> None:
    """Print precision, recall, and the share of the other labels that were taken for facts."""
    totals = counts(told, found)
    for name, part, whole in (
        ("precision", "right", "read"),
        ("recall", "found", "asserted"),
        ("taken", "taken", "others"),
    ):
        print_share(name, totals[part], totals[whole])


def print_share(name: str, part: int, whole: int) -> None:
    ones = np.repeat([1.0, 0.0], [part, whole - part])
    low, high = wilson(ones, LEVEL)
    print(f"{name} {ones.mean():.3f} [{low:.3f}, {high:.3f}] ({part} of {whole})")


if __name__ == "__main__":
    main()
