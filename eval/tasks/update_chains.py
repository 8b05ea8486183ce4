"""Generated dialogues in which one relation of one subject changes, with questions on its value now and before.

Every chain is a user of its own. Its dialogue has the statements of the chain and distractors: other subjects of the
same relation (some of them speaking of themselves), other relations of the same subject, the same relation on another
topic, questions, small talk. Some messages arrive after all others though they are dated earlier. The truth is what
the statements say in the order of their dates.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from eval.tasks.plain import Act, Half, Plain, PlainFile, Teller, Voice, draw, filled, teller
from nscma_torch.records import Message
from nscma_torch.relations import Relation, Schema

BEGIN = datetime(2025, 1, 6, 9, tzinfo=UTC)
_CORRECTIONS = ("Correction: {x}", "Sorry, I got that wrong: {x}", "I made a mistake just now. {x}")
_SMALL_TALK = (
    "Good morning!", "What a long week.", "Haha, very true.", "See you later!", "It rained all morning.", "Thanks a lot!",
    "Let me think about it.", "Could you say that again?", "That sounds lovely.", "No worries at all.", "Fair enough.",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One statement of a chain. `corrects`: the one before it was never true; `late`: it arrives after all others."""

    act: Act | Literal["corrects"]
    value: str
    old: str | None = None
    late: bool = False
    denied: bool = False  # a correction that denies what was said, and states nothing in its place


@dataclass(frozen=True)
class Chain:
    """A dialogue in order of arrival, and what holds of `subject` now and at `past_at`.

    `last` is the text of the statement that made it so; `values` are all that occur in the chain.
    """

    name: str
    relation: Relation
    topic: str
    subject: str
    scenario: str
    messages: tuple[Message, ...]
    late: tuple[Message, ...]
    question: str
    asked_at: datetime
    values: tuple[str, ...]
    current: frozenset[str]
    past: frozenset[str]
    past_at: datetime
    last: str


Span = tuple[str, datetime, datetime | None]
Steps = Callable[[list[str], random.Random], list[Step]]


def _changed(v: list[str], rng: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("begins", v[1], v[0]), Step("begins", v[2], v[1])][: rng.choice((2, 3))]


def _stated_anew(v: list[str], rng: random.Random) -> list[Step]:  # the new value in the words of the first
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
    steps = [Step("states", value) for value in v]
    return [*steps, Step("corrects", v[-1], denied=True)]


def _exchanged(v: list[str], _: random.Random) -> list[Step]:
    return [Step("states", v[0]), Step("states", v[1]), Step("begins", v[-1], v[0])]


def scenarios(told: Teller, relation: Relation) -> list[Steps]:
    """What can happen to a relation that has sentences for it."""
    if relation.cardinality == "one":
        if told.plain.lasting:
            return [_corrected_once, _confirmed]
        grown = [] if told.plain.ordered else [_returned]
        return [_changed, _came_late, _repeated, _stated_anew, _corrected, *grown, *([_over] * told.can("ends"))]
    ended: list[Steps] = [_one_ended, _end_came_first, _end_came_late, _regained]
    found: list[Steps] = [_gathered, *(ended if told.can("ends") else [])]
    return found + [_retracted] * told.can("denies") + [_exchanged] * (told.can("begins") and told.plain.most > 2)


def generate(n: int, seed: int, schema: Schema, plain: PlainFile, half: Half = "test") -> list[Chain]:
    """n chains, relation by relation in turn, each with the scenarios of its relation in turn."""
    order = sorted(plain.relations)
    return [_chain(i, order, seed, schema, plain, half) for i in range(n)]


def _chain(i: int, order: Sequence[str], seed: int, schema: Schema, plain: PlainFile, half: Half) -> Chain:
    rng = random.Random(f"{seed} {i}")
    own = plain.relations[order[i % len(order)]]
    topic = rng.choice(sorted(own.topics)) if own.topics else ""
    told = pick_teller(own, topic, plain, half, rng)
    possible = scenarios(told, schema[own.name])
    steps_of = possible[(i // len(order)) % len(possible)]
    values = pick_values(told, plain, half, rng)
    steps = steps_of(values, rng)
    texts = [_words(told, step, rng) for step in steps]
    scenario = steps_of.__name__.strip("_").replace("_", " ")
    return dialogue(f"{i} {own.name}", scenario, told, list(zip(steps, texts, strict=True)), rng, schema, plain, half)


def pick_teller(own: Plain, topic: str, plain: PlainFile, half: Half, rng: random.Random) -> Teller:
    """Somebody who speaks of some subject."""
    (subject,) = draw(plain.entries(own.subjects, half), 1, rng)
    voice: Voice = rng.choice(own.voices)
    return teller(own, voice, subject, topic)


def pick_values(told: Teller, plain: PlainFile, half: Half, rng: random.Random, pool: str = "") -> list[str]:
    """Different values for a chain."""
    entries = plain.entries(pool or told.plain.pool(told.topic), half)
    values = draw(entries, min(3, told.plain.most, len(entries)), rng, without=[told.subject])
    return sorted(values) if told.plain.ordered else values


def _words(told: Teller, step: Step, rng: random.Random) -> str:
    if step.act == "corrects":
        text = told.say("denies" if step.denied else "states", step.value, rng)
        return rng.choice(_CORRECTIONS).format(x=text)
    act: Act = step.act
    return told.say(act if told.can(act) else "states", step.value, rng, old=step.old)


def dialogue(
    name: str,
    scenario: str,
    told: Teller,
    said: Sequence[tuple[Step, str]],
    rng: random.Random,
    schema: Schema,
    plain: PlainFile,
    half: Half,
) -> Chain:
    """The steps with their texts, dated, among distractors."""
    at, times = BEGIN, []
    for step, _ in said:
        quick = step.act == "corrects"
        at += timedelta(minutes=rng.randint(2, 20)) if quick else timedelta(days=rng.randint(5, 40), minutes=rng.randint(0, 300))
        times.append(at)
    asked_at = at + timedelta(days=30)
    spans = _spans([(step, time) for (step, _), time in zip(said, times, strict=True)], schema[told.plain.name])
    past_at = _past_time(spans, times, rng)
    prompt = [(time, step.late, Message("user", text, time, told.speaker)) for (step, text), time in zip(said, times, strict=True)]
    values = tuple(dict.fromkeys(step.value for step, _ in said))
    noise = [(m.timestamp or at, False, m) for m in _distractors(told, values, times, rng, plain, half)]
    ordered = sorted([*prompt, *noise], key=lambda item: item[0])
    return Chain(
        name, schema[told.plain.name], told.topic, told.subject, scenario,
        tuple(message for _, late, message in ordered if not late),
        tuple(message for _, late, message in ordered if late),
        told.ask(rng), asked_at, values, _held(spans, asked_at), _held(spans, past_at), past_at, said[-1][1],
    )  # fmt: skip


def _spans(steps: Iterable[tuple[Step, datetime]], relation: Relation) -> list[Span]:
    """When each value held, by the order of dates."""
    spans: list[Span] = []
    for step, at in steps:
        begin = at
        if step.act == "corrects":
            _, begin, _ = spans.pop()
        closed = {step.old} if step.old else {step.value} if step.act == "ends" else set()
        one = relation.cardinality == "one" and step.act != "ends"
        spans = [
            (value, since, at if until is None and (value in closed or (one and value != step.value)) else until)
            for value, since, until in spans
        ]
        open_already = any(value == step.value and until is None for value, _, until in spans)
        if step.act != "ends" and not step.denied and not open_already:
            spans.append((step.value, begin, None))
    return spans


def _held(spans: Sequence[Span], at: datetime) -> frozenset[str]:
    return frozenset(v for v, since, until in spans if since <= at and (until is None or at < until))


def _past_time(spans: Sequence[Span], times: Sequence[datetime], rng: random.Random) -> datetime:
    """A time between two statements at which something held; if there is one, when another value held than now."""
    middles = [one + (two - one) / 2 for one, two in zip(times, times[1:], strict=False)]
    telling = [at for at in middles if _held(spans, at)] or [times[-1] + timedelta(hours=1)]
    other = [at for at in telling if _held(spans, at) != _held(spans, times[-1])]
    return rng.choice(other or telling)


def _distractors(
    told: Teller, values: Sequence[str], times: Sequence[datetime], rng: random.Random, plain: PlainFile, half: Half
) -> list[Message]:
    """Messages at random times that say nothing of the chain's subject, relation and topic."""
    window = (times[-1] + timedelta(days=9) - BEGIN).total_seconds()
    found = []
    for _ in range(rng.randint(4, 8)):
        at = BEGIN + timedelta(seconds=rng.random() * window)
        found.append(_distractor(told, values, rng, plain, half, at))
    return found


def _distractor(
    told: Teller, values: Sequence[str], rng: random.Random, plain: PlainFile, half: Half, at: datetime
) -> Message:
    draw_of = rng.random()
    if draw_of < 0.35:  # another subject
        (other,) = draw(plain.entries(told.plain.subjects, half), 1, rng, without=[told.subject, *values])
        voice: Voice = "named" if told.plain.first.states and rng.random() < 0.5 else "third"
        return _statement(teller(told.plain, voice, other, told.topic), told, plain, half, rng, at)
    if draw_of < 0.6:  # another relation, or topic, of the same subject
        fitting = [p for p in plain.relations.values() if _apart(p, told) and (told.speaker or told.subject == "user" or p.third.states)]
        own = rng.choice(fitting)
        topics = [topic for topic in sorted(own.topics) if topic != told.topic]
        told_too = replace(told, plain=own, topic=rng.choice(topics) if topics else "", sentences=_same_person(told, own))
        return _statement(told_too, told, plain, half, rng, at)
    if draw_of < 0.75:
        return Message("assistant", told.ask(rng), at)
    return Message(rng.choice(("user", "assistant")), rng.choice(_SMALL_TALK), at, None)


def _same_person(told: Teller, own: Plain) -> "object": ...
