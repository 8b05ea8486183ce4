"""How well the embedded extractor, or a model, reads statements: precision and recall on hand-labelled messages.

    python -m eval.experiments.facts.statements_quality [--half test|dev|dev2|new|new_dev|new_test] [--errors] \
        [--config FILE]

`new` are messages of three authors who had not seen the forms; every second one of each, `new_dev`, was looked at when
forms were taken out.

A statement is right when relation, polarity, past and topic agree with a label (to dislike is not to like), and
subject and object name the same: equal after case, determiners and owners ("Ben's car", "the car") are dropped, or
one's words all among the other's. What is labelled past may be read as denied: either says that it holds no longer.
Labels marked optional are neither demanded nor punished, nor is the negation, or the past, of a value that a label says
was replaced.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from eval.readers.choose_reader import add_config, reader_of
from nscma_torch.core.records import Scope, Statement, Unit
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.text.names import name_key
from nscma_torch.text.spelling_variants import american

FOLDER = Path(__file__).parents[2] / "data" / "statements"


@dataclass(frozen=True)
class Score:
    """Counts: statements read and right, labels demanded and found, messages without a fact and those left alone."""

    read: int
    right: int
    demanded: int
    found: int
    empty: int
    silent: int

    @property
    def precision(self) -> float:
        """Share of the statements read that are right; optional ones are left out."""
        return self.right / max(1, self.read)

    @property
    def recall(self) -> float:
        """Share of the demanded labels that were found."""
        return self.found / max(1, self.demanded)


def load(half: str) -> list[dict[str, Any]]:
    """Labelled messages of a half."""
    name, _, part = half.partition("_")
    path = FOLDER / ("new_authors.jsonl" if name == "new" else f"{half}.jsonl")
    messages = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [message for message in messages if not part or message["half"] == part]


def unit_of(message: Mapping[str, Any]) -> Unit:
    """A labelled message as extraction sees it."""
    said = datetime.fromisoformat(message["said"].replace("Z", "+00:00"))
    return Unit("1", Scope("user"), "chunk", message["text"], (), said, name=message["speaker"])


def score(
    messages: Sequence[Mapping[str, Any]],
    found: Sequence[Sequence[Statement]],
    schema: Schema,
    *,
    errors: bool = False,
) -> tuple[Score, Counter[str]]:
    """Counts of what was found in each message, and misses and false alarms by relation; `errors` prints each."""
    totals: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for message, statements in zip(messages, found, strict=True):
        labels = message["facts"]
        met: set[int] = set()
        for statement in statements:
            fits = [i for i, label in enumerate(labels) if agrees(statement, label, schema)]
            met.update(fits)
            demanded = any(not labels[i].get("optional") for i in fits)
            excused = bool(fits) or ((statement.negated or statement.past) and _was_replaced(statement, labels))
            if demanded or not excused:
                totals["read"] += 1
                totals["right"] += demanded
            if not excused:
                wrong[f"+{statement.relation}"] += 1
                if errors:
                    print(f"  WRONG {_shown(statement)}   in: {message['text']}")
        for i, label in enumerate(labels):
            if not label.get("optional"):
                totals["demanded"] += 1
                totals["found"] += i in met
                if i not in met:
                    wrong[f"-{label['relation']}"] += 1
                    if errors:
                        negated = "not " if label.get("negated") else ""
                        print(
                            f"  MISSED {negated}{label['subject']} | {label['relation']} {label.get('topic') or ''} | "
                            f"{label['object']}   in: {message['text']}   read: {[_shown(s) for s in statements]}"
                        )
        if not labels:
            totals["empty"] += 1
            totals["silent"] += not statements
    names = ("read", "right", "demanded", "found", "empty", "silent")
    return Score(*(totals[name] for name in names)), wrong


def agrees(statement: Statement, label: Mapping[str, Any], schema: Schema) -> bool:
    """Whether a statement says what a label demands."""
    over = bool(label.get("past")) and statement.negated  # "I left Bosch": not now, and before
    denied = bool(label.get("negated")) or over
    same = statement.relation == label["relation"] and statement.negated == denied
    opposite = schema[statement.relation].opposite == label["relation"]
    if not (same or (opposite and statement.negated != denied)):
        return False
    if (statement.past or over) != bool(label.get("past")) or bool(statement.topic) != bool(label.get("topic")):
        return False
    if statement.topic and not _same(american(statement.topic), american(label["topic"])):
        return False
    objects = [label["object"], *label.get("accept", ())]
    straight = _same(statement.subject, label["subject"]) and any(_same(statement.object, o) for o in objects)
    turned = schema[statement.relation].symmetric and (
        _same(statement.object, label["subject"]) and any(_same(statement.subject, o) for o in objects)
    )
    return straight or turned


def _was_replaced(statement: Statement, labels: Sequence[Mapping[str, Any]]) -> bool:
    return any(label.get("replaces") and _same(statement.object, label["replaces"]) for label in labels)


def _words(name: str) -> list[str]:
    key = name_key(name)
    if "'s " in key:
        key = key.rsplit("'s ", 1)[1]
    return key.replace("-", " ").split()


def _same(one: str, other: str) -> bool:
    """Whether two wordings name the same: all words of one among the other's (Chinese: contained)."""
    a, b = _words(one), _words(other)
    if not a or not b:
        return a == b
    if any("一" <= c <= "鿿" for c in one + other):
        return "".join(a) in "".join(b) or "".join(b) in "".join(a)
    return set(a) <= set(b) or set(b) <= set(a)


def _shown(s: Statement) -> str:
    return f"{'not ' if s.negated else ''}{'past ' if s.past else ''}{s.subject} | {s.relation} {s.topic} | {s.object}"


def main() -> None:
    """Print precision and recall, for all messages and by language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("test", "dev", "dev2", "new", "new_dev", "new_test"), default="test")
    parser.add_argument("--errors", action="store_true", help="print every miss and false alarm")
    add_config(parser)
    arguments = parser.parse_args()
    schema = load_relations()
    messages = load(arguments.half)
    with reader_of(schema, arguments.config) as reader:
        read = reader.read([unit_of(message) for message in messages], [one["listener"] or "" for one in messages])
    found = [[one for one in own if not schema[one.relation].open] for own in read]  # of open ones there are no labels
    for language in ("en", "zh", None):
        chosen = [i for i, message in enumerate(messages) if language in (None, message["lang"])]
        result, wrong = score(
            [messages[i] for i in chosen],
            [found[i] for i in chosen],
            schema,
            errors=arguments.errors and language is not None,
        )
        print(
            f"{arguments.half} {language or 'all'}: {len(chosen)} messages, precision {result.precision:.3f} "
            f"({result.right}/{result.read}), "
            f"recall {result.recall:.3f} ({result.found}/{result.demanded}), silent on "
            f"{result.silent}/{result.empty} without a fact"
        )
    if reader.work():
        print(reader.work())
    print("by relation (+ false, - missed):", ", ".join(f"{name} {n}" for name, n in wrong.most_common()))


if __name__ == "__main__":
    main()
