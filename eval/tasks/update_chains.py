"""Generated dialogues in which one relation of one subject changes, with questions on its value now and before.

Every chain is a user of its own. Its dialogue has the statements of the chain and distractors: other subjects of the
same relation (some of them speaking of themselves), other relations of the same subject, the same relation on another
topic, questions, small talk. Some messages arrive after all others though they are dated earlier. The truth is what
the statements say in the order of their dates.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from eval.tasks.plain_statements import Act, Half, Plain, PlainFile, Teller, Voice, draw, filled
from eval.tasks.scenarios import Span, Step, held, scenarios, spans, title
from nscma_torch.core.records import Message
from nscma_torch.reading.relations import Relation, Schema

BEGIN = datetime(2025, 1, 6, 9, tzinfo=UTC)
_CORRECTIONS = ("Correction: {x}", "Sorry, I got that wrong: {x}", "I made a mistake: {x}")
_SMALL_TALK = (
    "Good morning!",
    "What a long week.",
    "Haha, very true.",
    "See you later!",
    "It rained all morning.",
    "Thanks a lot!",
    "Let me think about it.",
    "Could you say that again?",
    "That sounds lovely.",
    "No worries at all.",
)
_FREE_POOLS = {"located_in": "towns"}  # free paraphrases speak of towns, the plain sentences of rooms
_ALIKE = (  # who says the one may be understood to say the other
    {"allergic_to", "has_condition"},
    {"speaks", "able_to"},
    {"learning", "studies"},
    {"married_to", "partner"},
    {"pet", "owns"},
    {"count", "owns"},
    {"count", "pet"},
)
_CHANGES = {"change": "begins", "negate": "ends", "state": "states"}


@dataclass(frozen=True)
class World:
    """What chains are made of."""

    schema: Schema
    plain: PlainFile
    half: Half

    def entries(self, pool: str) -> tuple[str, ...]:
        """The pool's names or values of this half."""
        return self.plain.entries(pool, self.half)


@dataclass(frozen=True)
class Chain:
    """A dialogue in order of arrival, and what holds of `subject` now and at `past_at`.

    `said` are the chain's own statements by date, the last one made it so; `values` are all that occur in them.
    """

    name: str
    relation: Relation
    topic: str
    subject: str
    scenario: str
    said: tuple[str, ...]
    messages: tuple[Message, ...]
    late: tuple[Message, ...]
    question: str
    asked_at: datetime
    values: tuple[str, ...]
    current: frozenset[str]
    past_at: datetime
    past: frozenset[str]


def generate(n: int, seed: int, world: World) -> list[Chain]:
    """n chains: the relations in turn, and of each its scenarios in turn."""
    order = sorted(world.plain.relations)
    chains = []
    for i in range(n):
        rng = random.Random(f"{seed} {i}")
        told = _teller(world.plain.relations[order[i % len(order)]], rng, world)
        possible = scenarios(told, world.schema[told.plain.name])
        scenario = possible[(i // len(order)) % len(possible)]
        steps = scenario(_values(told, told.plain.pool(told.topic), rng, world), rng)
        said = [(step, _words(told, step, rng)) for step in steps]
        chains.append(_dialogue(f"{i} {told.plain.name}", title(scenario), told, said, rng, world))
    return chains


def paraphrased(path: Path, each: int, seed: int, world: World) -> list[Chain]:
    """Chains whose last statement is a free paraphrase, `each` for every line of a file of them; the rest is plain."""
    chains = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        own = world.plain.relations[row["relation"]]
        topic = row["topic"] or ""
        pool = _FREE_POOLS.get(own.name) or own.pool(topic)
        for i in range(each):
            rng = random.Random(f"{seed} {number} {i}")
            told = _teller(own, rng, world, topic=topic, speaks=row["subject"] == "I")
            values = _values(told, pool, rng, world)
            steps = _free_steps(_CHANGES[row["kind"]], values, world.schema[own.name])
            said = [(step, _words(told, step, rng)) for step in steps[:-1]]
            said.append((steps[-1], _free_words(row["text"], told, steps[-1])))
            chains.append(_dialogue(f"{number}.{i} {own.name}", row["kind"], told, said, rng, world))
    return chains


def _free_steps(act: str, values: list[str], relation: Relation) -> list[Step]:
    if act == "begins":
        return [Step("states", values[0]), Step("begins", values[1], values[0])]
    if act == "ends":
        others = [] if relation.cardinality == "one" else [Step("states", values[1])]
        return [*others, Step("states", values[0]), Step("ends", values[0])]
    return [Step("states", values[0])]


def _free_words(text: str, told: Teller, step: Step) -> str:
    subject = told.subject if told.plain.subjects == "people" else f"the {told.subject}"
    return filled(text, s=subject, o=step.value, old=step.old or "")


def _teller(
    own: Plain, rng: random.Random, world: World, *, topic: str | None = None, speaks: bool | None = None
) -> Teller:
    """Somebody who speaks of some subject; of himself or not where `speaks` says so."""
    voices: list[Voice] = [voice for voice in own.voices if speaks is None or speaks == (voice != "third")]
    voice = rng.choice(voices)
    (subject,) = draw(world.entries(own.subjects), 1, rng)
    if topic is None:
        topic = rng.choice(sorted(own.topics)) if own.topics else ""
    return Teller(own, voice, "user" if voice == "user" else subject, topic)


def _values(told: Teller, pool: str, rng: random.Random, world: World) -> list[str]:
    entries = world.entries(pool)
    values = draw(entries, min(told.plain.most, len(entries)), rng, without=[told.subject])
    return sorted(values) if told.plain.ordered else values


def _words(told: Teller, step: Step, rng: random.Random) -> str:
    if step.act == "corrects":
        text = told.say("denies" if step.denied else "states", step.value, rng)
        return rng.choice(_CORRECTIONS).format(x=text)
    act: Act = step.act if told.can(step.act) else "states"
    return told.say(act, step.value, rng, old=step.old)


def _dialogue(
    name: str, scenario: str, told: Teller, said: Sequence[tuple[Step, str]], rng: random.Random, world: World
) -> Chain:
    """The statements, dated, among distractors."""
    relation = world.schema[told.plain.name]
    at, times = BEGIN, []
    for step, _ in said:
        slip = timedelta(minutes=rng.randint(2, 20))
        at += slip if step.act == "corrects" else timedelta(days=rng.randint(5, 40), minutes=rng.randint(0, 300))
        times.append(at)
    dated = list(zip(said, times, strict=True))
    truth = spans([(step, time) for (step, _), time in dated], relation)
    past_at, asked_at = _past_time(truth, times, rng), at + timedelta(days=30)
    values = tuple(dict.fromkeys(step.value for step, _ in said))
    window = (at - BEGIN) / timedelta(seconds=1) + 9 * 86400
    noise = [
        (when, False, _distractor(told, when, values, rng, world))
        for when in (BEGIN + timedelta(seconds=rng.random() * window) for _ in range(rng.randint(4, 8)))
    ]
    own = [(time, step.late, Message("user", text, time, told.speaker)) for (step, text), time in dated]
    ordered = sorted([*own, *noise], key=lambda item: item[0])
    return Chain(
        name=name,
        relation=relation,
        topic=told.topic,
        subject=told.subject,
        scenario=scenario,
        said=tuple(text for _, text in said),
        messages=tuple(message for _, late, message in ordered if not late),
        late=tuple(message for _, late, message in ordered if late),
        question=told.ask(rng),
        asked_at=asked_at,
        values=values,
        current=held(truth, asked_at),
        past_at=past_at,
        past=held(truth, past_at),
    )


def _past_time(truth: Sequence[Span], times: Sequence[datetime], rng: random.Random) -> datetime:
    """A time between two statements at which something held; if there is one, at which another value held than now."""
    middles = [one + (two - one) / 2 for one, two in pairwise(times)]
    telling = [at for at in middles if held(truth, at)] or [times[-1] + timedelta(hours=1)]
    return rng.choice([at for at in telling if held(truth, at) != held(truth, times[-1])] or telling)


def _distractor(told: Teller, at: datetime, values: Sequence[str], rng: random.Random, world: World) -> Message:
    """A message that says nothing of the chain's subject, relation and topic."""
    kind = rng.random()
    if kind < 0.35:
        (other,) = draw(world.entries(told.plain.subjects), 1, rng, without=[told.subject, *values])
        voice: Voice = rng.choice([voice for voice in told.plain.voices if voice != "user"])
        taken = values if world.schema[told.plain.name].symmetric else ()  # who marries one of them ends the chain's
        return _statement(Teller(told.plain, voice, other, told.topic), at, [told.subject, *taken], rng, world)
    apart = [own for own in world.plain.relations.values() if _apart(own, told, world.schema)]
    if kind < 0.65 and apart:
        own = rng.choice(apart)
        topics = [topic for topic in sorted(own.topics) if topic != told.topic]
        topic = rng.choice(topics) if topics else ""
        return _statement(Teller(own, told.voice, told.subject, topic), at, [told.subject], rng, world)
    if kind < 0.8:
        return Message("user" if told.voice == "user" else "assistant", told.ask(rng), at)
    role = rng.choice(("user", "assistant"))
    return Message(role, rng.choice(_SMALL_TALK), at, told.speaker if role == "user" else None)


def _statement(by: Teller, at: datetime, taken: Sequence[str], rng: random.Random, world: World) -> Message:
    pool = by.plain.pool(by.topic)
    (value,) = draw(world.entries(pool), 1, rng, without=[by.subject, *taken])
    return Message("user", by.say("states", value, rng), at, by.speaker)


def _apart(own: Plain, told: Teller, schema: Schema) -> bool:
    """Whether a relation can be stated of the chain's subject without touching the chain."""
    one, other = schema[own.name], schema[told.plain.name]
    related = {one.inverse, one.opposite} | ({one.name} if len(own.topics) < 2 else set())
    fits = own.subjects == told.plain.subjects and told.voice in own.voices and {one.name, other.name} not in _ALIKE
    return fits and other.name not in related and one.name not in {other.inverse, other.opposite}
