"""What can happen to one relation of one subject: statements in the order of their dates, and what they make true."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from eval.tasks.plain_statements import Act, Teller
from nscma_torch.reading.relations import Relation


@dataclass(frozen=True)
class Step:
    """One statement of a chain.

    "corrects": the statement before it was never true; with `denied` nothing takes its place. `late`: it arrives after
    all others.
    """

    act: Act | Literal["corrects"]
    value: str
    old: str | None = None
    late: bool = False
    denied: bool = False


Span = tuple[str, datetime, datetime | None]
Scenario = Callable[[list[str], random.Random], list[Step]]


def _changed(v: list[str], rng: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("begins", v[1], v[0]), Step("begins", v[2], v[1])][: rng.choice((2, 3))]


def _stated_anew(v: list[str], rng: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("states", v[1]), Step("begins", v[2], v[1])][: rng.choice((2, 3))]


def _returned(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("begins", v[1], v[0]), Step("begins", v[0], v[1])]


def _came_late(v: list[str], rng: random.Random) -> list[Step]:
    late = rng.randrange(2)
    steps = [Step("states", v[0]), Step("states", v[1]), Step("begins", v[2], v[1])]
    return [replace(step, late=i == late) for i, step in enumerate(steps)]


def _repeated(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("states", v[0]), Step("begins", v[1], v[0]), Step("states", v[1])]


def _corrected(v: list[str], rng: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("corrects", v[1]), Step("begins", v[2], v[1])][: rng.choice((2, 3))]


def _over(v: list[str], rng: random.Random) -> list[Step]:
    if rng.random() < 0.5:
        return [Step("states", v[0]), Step("ends", v[0])]
    return [Step("states", v[0]), Step("begins", v[1], v[0]), Step("ends", v[1])]


def _corrected_once(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("corrects", v[1])]


def _confirmed(v: list[str], rng: random.Random) -> list[Step]:
    late = rng.randrange(3)
    return [Step("states", v[0], late=i == late) for i in range(3)]


def _gathered(v: list[str], rng: random.Random) -> list[Step]:
    late = rng.randrange(len(v) + 1)
    steps = [Step("states", value) for value in v]
    return [replace(step, late=i == late) for i, step in enumerate(steps)] + [Step("states", rng.choice(v))]


def _one_ended(v: list[str], rng: random.Random) -> list[Step]:
    return [*(Step("states", value) for value in v), Step("ends", rng.choice(v))]


def _end_came_first(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0], late=True), *(Step("states", value) for value in v[1:]), Step("ends", v[0])]


def _end_came_late(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("states", v[1]), Step("ends", v[0], late=True), Step("states", v[-1])]


def _regained(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("states", v[1]), Step("ends", v[0]), Step("states", v[0])]


def _retracted(v: list[str], _: random.Random) -> list[Step]:
    return [*(Step("states", value) for value in v), Step("corrects", v[-1], denied=True)]


def _exchanged(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("states", v[1]), Step("begins", v[2], v[0])]


def scenarios(told: Teller, relation: Relation) -> list[Scenario]:
    """What there are sentences for."""
    if relation.cardinality == "one":
        if told.plain.lasting:
            return [_corrected_once, _confirmed]
        found: list[Scenario] = [_changed, _came_late, _repeated, _stated_anew, _corrected]
        return found + [_returned] * (not told.plain.ordered) + [_over] * told.can("ends")
    found = [_gathered]
    if told.can("ends"):
        found += [_one_ended, _end_came_first, _end_came_late, _regained]
    return found + [_retracted] * told.can("denies") + [_exchanged] * told.can("begins")


def title(scenario: Scenario) -> str:
    """Its name in words."""
    return scenario.__name__.strip("_").replace("_", " ")


def spans(steps: Iterable[tuple[Step, datetime]], relation: Relation) -> list[Span]:
    """When each value held: from, until (None: still), by the order of dates."""
    found: list[Span] = []
    for step, at in steps:
        begin = at
        if step.act == "corrects":
            _, begin, _ = found.pop()
        only = relation.cardinality == "one" and step.act != "ends"
        closed = {step.old} | ({step.value} if step.act == "ends" else set())
        found = [
            (value, since, at if until is None and (value in closed or (only and value != step.value)) else until)
            for value, since, until in found
        ]
        known = any(value == step.value and until is None for value, _, until in found)
        if step.act != "ends" and not step.denied and not known:
            found.append((step.value, begin, None))
    return found


def held(found: Sequence[Span], at: datetime) -> frozenset[str]:
    """The values that held at a time."""
    return frozenset(value for value, since, until in found if since <= at and (until is None or at < until))
