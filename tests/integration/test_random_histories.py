"""Random histories of a store: what holds depends on the set of messages and effects, and nothing deleted is shown."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import to_micros
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.reader_model import CHANGES
from nscma_torch.standing import effects
from tests.helpers.word_reader import KnowingReader, put_in_place

FIRST = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATER = FIRST + timedelta(days=60)
USER = "ada"
TEXTS = (
    "My job is at Lumora, on the harbour.",
    "Tram 7 brings me to my job.",
    "I live in Kilkenny.",
    "Ysolde shares the flat with me.",
    "Handed in my badge, the job is done.",
    "The landlord sold the house.",
    "I work in Ghent now.",
    "Ysolde moved out on Sunday.",
)
MANY = int(os.environ.get("NSCMA_HISTORIES", "0"))
SEEDS = range(MANY) if MANY else (0, 3, 26)  # the last two found faults


class Program(NamedTuple):
    """Messages by place in `TEXTS` with the day of each, what they rest on, effects, and the places deleted."""

    days: Mapping[int, int]
    grounds: Mapping[int, int]
    effects: Mapping[tuple[str, str], str]
    deleted: Sequence[int]
    restored: Sequence[int]


def program(rng: random.Random) -> Program:
    places = rng.sample(range(len(TEXTS)), rng.randint(3, len(TEXTS)))
    days = {place: day for day, place in enumerate(places)}
    grounds = {later: rng.choice(places[:at]) for at, later in enumerate(places) if at and rng.random() < 0.3}
    pairs = [(one, other) for at, one in enumerate(places) for other in places[at + 1 :]]
    found = {(TEXTS[a], TEXTS[b]): rng.choice(CHANGES) for a, b in rng.sample(pairs, min(len(pairs), 5))}
    deleted = rng.sample(places, rng.randint(0, 2))
    return Program(days, grounds, found, deleted, deleted[: rng.randint(0, 1)])


def run(memory: Memory, history: Program, order: Sequence[int], rng: random.Random) -> tuple[dict[str, str], list[str]]:
    """Tell a history in an order of arrival; return the state of each message by text, and what reads show."""
    ids: dict[int, str] = {}
    for place in order:
        at = FIRST + timedelta(days=history.days[place])
        (added,) = memory.add(TEXTS[place], user_id=USER, timestamp=at, now=LATER)
        ids[place] = added.id
        if rng.random() < 0.3:
            memory.flush()
    with memory.components.database.write(USER) as connection:
        for later, ground in history.grounds.items():
            seqs = [list(episodes.seqs_of(connection, USER, [ids[place]])) for place in (later, ground)]
            effects.tell_rests(connection, USER, *seqs)
    for place in history.deleted:
        memory.delete(ids[place], user_id=USER, now=LATER)
    memory.flush()
    for place in history.restored:
        memory.restore(ids[place], user_id=USER, now=LATER)
    memory.flush()
    with memory.components.database.read(USER) as connection:
        said = {seq: TEXTS[place] for place, one in ids.items() for seq in episodes.seqs_of(connection, USER, [one])}
        found = effects.of_messages(connection, said, to_micros(LATER))
    states = {said[seq]: f"{own.state} by {said[own.by]}" for seq, own in found.items() if own.by is not None}
    shown = [hit.text for hit in memory.search("job flat Ysolde live tram", user_id=USER, top_k=20, now=LATER)]
    shown += [sentence.text for sentence in memory.profile(user_id=USER, now=LATER)]
    sources = {one for fact in memory.facts(user_id=USER, now=LATER) for one in fact.episode_ids}
    shown += [TEXTS[place] for place, one in ids.items() if one in sources]
    assert memory.verify() == []
    return states, shown


@pytest.fixture
def opened(open_memory: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Memory]:
    def of(history: Program, name: str) -> Memory:
        reading = put_in_place(KnowingReader("zebra", history.effects), monkeypatch, 0.1)
        standing = {"neighbours": len(TEXTS), "forget_requests": False}
        config: dict[str, Any] = {"reading": reading, "standing": standing, "gate": {"rule": "everything"}}
        return open_memory(name, config=config)

    return of


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_has_one_state_in_any_order_and_shows_nothing_deleted(
    seed: int, opened: Callable[..., Memory]
) -> None:
    rng = random.Random(seed)
    history = program(rng)
    order = sorted(history.days, key=history.days.__getitem__)
    first, shown = run(opened(history, "first.db"), history, order, random.Random(seed))
    hidden = {TEXTS[place] for place in history.deleted} - {TEXTS[place] for place in history.restored}
    assert hidden.isdisjoint(shown) and not any(text in state for text in hidden for state in first.values())
    other, _ = run(opened(history, "other.db"), history, rng.sample(order, len(order)), random.Random(seed + 1))
    assert other == first


def test_replaying_a_history_gives_the_same_digest(opened: Callable[..., Memory]) -> None:
    history = program(random.Random(7))
    order = sorted(history.days, key=history.days.__getitem__)
    one, other = opened(history, "one.db"), opened(history, "two.db")
    for memory in (one, other):
        run(memory, history, order, random.Random(1))
    assert one.digest() == other.digest()
