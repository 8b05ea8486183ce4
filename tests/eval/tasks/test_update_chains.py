"""Generated chains: their sentences, their truth, and how what a memory says is judged."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from eval.experiments.facts.update_fidelity import STATEMENTS, paraphrase_table, plain_table, share
from eval.experiments.facts.update_verdicts import remember, same, verdict, without
from eval.systems.newest_chunk import readings
from eval.tasks.plain_statements import Half, PlainFile, Teller, draw, load_plain
from eval.tasks.scenarios import Step, held, scenarios, spans
from eval.tasks.update_chains import Chain, World, generate, paraphrased
from nscma_torch.core.records import Message
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

_START = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


@pytest.fixture(scope="module")
def plain() -> PlainFile:
    return load_plain()


@pytest.fixture(scope="module")
def world(schema: Schema, plain: PlainFile) -> World:
    return World(schema, plain, "dev")


def test_every_relation_has_plain_sentences_and_questions(schema: Schema, plain: PlainFile) -> None:
    assert set(plain.relations) == {name for name, relation in schema.relations.items() if not relation.open}
    words = {"s": "S", "o": "O", "old": "OLD", "t": "T"}
    for own in plain.relations.values():
        assert own.third.states and own.asks
        assert bool(own.values) != bool(own.topics)
        assert not own.first.states or own.asks_me
        for sentences in (own.first, own.third):
            for act, texts in sentences.model_dump().items():
                for text in texts:
                    assert "{o}" in text or "{s}" not in text
                    assert act == "begins" or "{old}" not in text
                    assert "{" not in text.format(**words)
        assert own.third.begins or not own.first.begins
        assert schema[own.name].cardinality == "many" or own.lasting or own.third.begins


def test_pools_have_enough_in_both_halves_and_no_entry_names_another(plain: PlainFile) -> None:
    for name, entries in plain.pools.items():
        if name == "closed":
            continue
        halves = [plain.entries(name, half) for half in ("dev", "test")]
        assert not set(halves[0]) & set(halves[1])
        assert sorted(entries) == sorted(halves[0] + halves[1])
        assert min(map(len, halves)) >= 3
        for entry in entries:
            assert without(entries, [entry]) == [other for other in entries if other != entry], entry


def test_names_and_values_are_in_no_labelled_statement_of_development(plain: PlainFile) -> None:
    labelled = (STATEMENTS / "dev.jsonl").read_text(encoding="utf-8").casefold()
    for name, entries in plain.pools.items():
        if name in {*plain.pools["closed"], "closed"}:
            continue
        for entry in entries:
            pattern = rf"(?<!\w){re.escape(entry.casefold().removeprefix('the '))}(?!\w)"
            assert not re.search(pattern, labelled), f"{name}: {entry}"


def test_truth_follows_dates_corrections_and_ends(schema: Schema) -> None:
    days = [_START + timedelta(days=i) for i in range(5)]
    one = schema["lives_in"]
    moved = spans(
        list(zip([Step("states", "a"), Step("begins", "b", "a"), Step("ends", "b")], days, strict=False)), one
    )
    assert [held(moved, day) for day in days[:4]] == [{"a"}, {"b"}, set(), set()]
    corrected = spans(list(zip([Step("states", "a"), Step("corrects", "b")], days, strict=False)), one)
    assert held(corrected, days[0]) == {"b"} and held(corrected, days[4]) == {"b"}
    many = schema["owns"]
    steps = [Step("states", "a"), Step("states", "b"), Step("ends", "a"), Step("states", "a"), Step("begins", "c", "b")]
    assert [held(spans(list(zip(steps, days, strict=True)), many), day) for day in days] == [
        {"a"}, {"a", "b"}, {"b"}, {"a", "b"}, {"a", "c"},
    ]  # fmt: skip
    denied = [Step("states", "a"), Step("states", "b"), Step("corrects", "b", denied=True)]
    assert held(spans(list(zip(denied, days, strict=False)), many), days[1]) == {"a"}


def test_chains_are_the_same_for_a_seed_and_cover_relations_and_scenarios(world: World) -> None:
    chains = generate(500, 3, world)
    assert chains == generate(500, 3, world)
    assert chains[:7] == generate(7, 3, world)
    assert generate(7, 4, world) != chains[:7]
    assert {chain.relation.name for chain in chains} == set(world.plain.relations)
    rng = random.Random(0)
    for own in world.plain.relations.values():
        told = Teller(own, own.voices[0], "Somebody", next(iter(own.topics), ""))
        for scenario in scenarios(told, world.schema[own.name]):
            values = draw(world.entries(own.pool(told.topic)), own.most, rng)
            assert all(step.value in values for step in scenario(values, rng))
    assert any(chain.late for chain in chains) and any(not chain.current for chain in chains)
    assert sum(chain.current != chain.past for chain in chains) > 250


def test_a_chain_is_a_dialogue_with_distractors(world: World) -> None:
    for chain in generate(100, 0, world):
        everything = [*chain.messages, *chain.late]
        texts = [message.content for message in everything]
        assert all(text in texts for text in chain.said)
        assert 4 <= len(everything) - len(chain.said) <= 8
        times = [message.timestamp for message in chain.messages]
        assert times == sorted(times, key=lambda at: at or _START)
        assert all(at is not None and at < chain.asked_at for at in times)
        assert chain.past
        assert {*chain.current, *chain.past} <= set(chain.values)
        own = [message for message in everything if message.name in (None, chain.subject)]
        assert {*chain.said} <= {message.content for message in own}


def test_paraphrased_chains_end_in_the_paraphrase(world: World, tmp_path: Path) -> None:
    path = tmp_path / "free.jsonl"
    path.write_text(
        '{"relation": "lives_in", "topic": null, "kind": "change", "subject": "third", "text": "{s}: {old}, {o}."}\n'
        '{"relation": "owns", "topic": null, "kind": "negate", "subject": "I", "text": "The {o}? Gone."}\n'
        '{"relation": "costs", "topic": null, "kind": "state", "subject": "third", "text": "{s}, yours for {o}."}\n'
    )
    chains = paraphrased(path, 2, 0, world)
    assert len(chains) == 6
    change, negate, state = chains[::2]
    (old,), (new,) = change.past, change.current
    assert change.said[-1] == f"{change.subject}: {old}, {new}."
    assert negate.said[-1].startswith("The ") and len(negate.current) == 1 and len(negate.past) == 2
    assert state.said == (f"The {state.subject}, yours for {next(iter(state.current))}.",)


@pytest.mark.parametrize("half", ["dev", "test"])
def test_every_line_of_the_free_paraphrases_makes_a_chain(schema: Schema, plain: PlainFile, half: Half) -> None:
    path = STATEMENTS / f"paraphrases_{half}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(paraphrased(path, 1, 0, World(schema, plain, half))) == len(lines)


def test_verdicts() -> None:
    assert same("the University of Padua", "University of Padua") and same("fly fishing", "fly-fishing")
    assert not same("Penrose University", "Dunmore University") and not same("", "x")
    others = ["Banff", "Ribe", "Vaduz"]
    assert verdict({"Banff"}, ["Banff"], others) == "right"
    assert verdict({"Banff"}, ["Ribe"], others) == "stale"
    assert verdict({"Banff"}, ["Banff", "Oslo"], others) == "wrong"
    assert verdict({"Banff", "Ribe"}, ["Ribe"], others) == "abstained"
    assert verdict({"Banff"}, [], others) == "abstained"


def test_a_memory_is_told_and_judged(world: World, tmp_path: Path) -> None:
    own = PlainFile(relations={"lives_in": world.plain.relations["lives_in"]}, pools=world.plain.pools)
    chains = generate(7, 0, World(world.schema, own, "dev"))
    outcomes = remember(chains, tmp_path)
    assert [outcome.chain for outcome in outcomes] == chains
    assert all(share(outcomes, part, "right") >= 0.7 for part in ("now", "past", "ask"))
    beside = [readings(chain, HashEmbedder()) for chain in chains]
    table = plain_table(outcomes, beside)
    assert table.row_count == 1 + len({chain.scenario for chain in chains}) + 1
    assert paraphrase_table(outcomes).row_count == table.row_count


def test_vectors_take_the_newest_of_the_nearest(schema: Schema) -> None:
    told = [
        "Ottoline lives in Banff.",
        "Where does Ottoline live?",
        "Ottoline now lives in Ribe.",
        "Fintan has a kiln.",
    ]
    messages = tuple(Message("user", text, _START + timedelta(days=i)) for i, text in enumerate(told))
    chain = Chain(
        name="0", relation=schema["lives_in"], topic="", subject="Ottoline", scenario="changed",
        said=(told[0], told[2]), messages=messages, late=(), question="Where does Ottoline live?",
        asked_at=_START + timedelta(days=30), values=("Banff", "Ribe"), current=frozenset({"Ribe"}),
        past_at=_START + timedelta(days=1), past=frozenset({"Banff"}),
    )  # fmt: skip
    now, past = readings(chain, HashEmbedder())
    assert past.newest and past.nearest
    assert not now.newest  # three messages are left, and the newest of them speaks of another
