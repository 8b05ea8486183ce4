"""Facts are a function of what was said: batches, jobs, exports and questions in between change nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Scope
from nscma_torch.semantic.store import entities, namespaces, statement_groups
from nscma_torch.semantic.store.fact_schema import statements
from nscma_torch.semantic.store.statement_groups import Key
from tests.helpers.noting import bare, day, everything, held, log, plain, say, tell

Open = Callable[..., Memory]


def dialogue(seed: int, n: int) -> list[tuple[str, float, dict[str, Any]]]:
    """Random statements of a few speakers about a few subjects, with their days and scopes."""
    rng = random.Random(seed)
    said = []
    for _ in range(n):
        who, what = rng.choice(("Ben", "Anna", "user")), rng.choice(("Rome", "Oslo", "Bern"))
        thing = rng.choice(("tea", "jazz"))
        mark = rng.choice(("", "", "", "|not", "|sorry", "|once", f"|was {what}", "|sure 0.6", "|since 2024-01-20"))
        text = rng.choice(
            (
                f"{{{who}|lives_in|{rng.choice(('Rome', 'Oslo', 'Bern'))}{mark}}}",
                f"{{{who}|likes|{thing}{mark}}}",
                f"{{{who}|dislikes|{thing}}}",
                f"{{{who}|favourite/colour|{rng.choice(('red', 'blue'))}{mark}}}",
                f"{{{who}|lives_in|{what}}} {{{who}|works_at|Acme{mark}}}",
                f"{{user|named|{rng.choice(('Ben', 'Anna'))}}}",
                "Nothing at all.",
            )
        )
        speaker = rng.choice(({"name": "Ben"}, {"name": "Anna"}, {"name": None}, {"name": None, "role": "assistant"}))
        said.append((text, rng.randrange(60), {**speaker, "agent_id": rng.choice((None, None, "cook"))}))
    return said


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(2, 40))])
def test_batches_and_the_time_of_flushing_change_nothing(seed: int, noted: Open) -> None:
    said = dialogue(seed, 22)
    stores = []
    rng = random.Random(seed)
    for name, batch, often in (("end", 32, 0.0), ("each", 1, 1.0), ("some", 3, 0.2)):
        memory = noted(f"{name}.db", {"worker": {"batch_size": batch}})
        for text, at, more in said:
            say(memory, text, at, stored=100, **more)
            if rng.random() < often:
                memory.flush()
        memory.flush()
        assert memory.verify() == []
        stores.append(memory)
    for other in stores[1:]:
        assert everything(other) == everything(stores[0])
        assert other.digest() == stores[0].digest()
    print(f"seed {seed}: {len(said)} messages flushed at the end, each, and now and then: one digest")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 30))])
def test_resolving_everything_again_changes_nothing(seed: int, memory: Memory) -> None:
    """Facts are a function of what counts now: not of what was said, changed and deleted on the way there."""
    rng = random.Random(seed)
    ids: list[str] = []
    for text, at, more in dialogue(seed, 25):
        ids.append(say(memory, text, at, stored=100, **more).id)
        deed, target = rng.choice(("flush", "delete", "restore", "update", "")), rng.choice(ids)
        if deed == "flush":
            memory.flush()
        elif deed == "update" and memory.get(target, user_id="ada"):
            memory.update(target, "{Ben|lives_in|Bern}", user_id="ada", now=day(101))
        elif deed in ("delete", "restore"):
            getattr(memory, deed)(target, user_id="ada", now=day(101))
    memory.flush()
    facts, digest = everything(memory), memory.digest()
    with memory.components.database.write(ALL_USERS) as connection:
        for namespace in namespaces.of_scope(connection, Scope("ada")):
            every = connection.execute(select(statements.c.subject, statements.c.relation, statements.c.topic))
            into = entities.canonical(connection, namespace)
            statement_groups.mark(
                connection, namespace, {Key(into.get(row[0], row[0]), row[1], row[2]) for row in every}
            )
    assert memory.flush() > 0
    assert (everything(memory), memory.digest()) == (facts, digest)
    assert memory.verify() == []


@pytest.mark.parametrize(
    "said",
    [
        [("{user|named|Ben}", 7, None), ("{user|named|Anna}", 23, "Anna"), ("{user|named|Ben}", 35, "Anna")],
        [("{user|named|Ben}", 7, None), ("{Anna|named|Ben}", 3, "Anna"), ("{Ben|likes|tea}", 4, "Carl")],
        [("{Ben|named|Benjamin}", 7, None), ("{user|named|Ben}", 3, "Ben"), ("{Benjamin|likes|tea}", 4, "Carl")],
        [("{user|named|Ben}", 7, "Ben"), ("{user|named|Eva|sorry}", 7.1, "Ben"), ("{Ben|likes|tea}", 9, "Ben")],
    ],
)
def test_names_stand_for_the_same_whenever_jobs_run(said: list[tuple[str, float, str | None]], noted: Open) -> None:
    seen = []
    for order in (said, said[::-1]):
        memory, at_once = noted(f"{len(seen)}.db"), noted(f"{len(seen)}-at-once.db")
        for text, at, name in order:
            tell(memory, text, at, stored=50, name=name)
            say(at_once, text, at, stored=50, name=name)
        at_once.flush()
        assert at_once.digest() == memory.digest()
        seen.append(everything(memory))
        memory.close()
        at_once.close()
    assert seen[0] == seen[1]


def test_an_export_is_the_whole_knowledge(noted: Open) -> None:
    full, empty, alone = noted("full.db"), noted("empty.db"), noted("alone.db")
    for text, at, more in dialogue(5, 15):
        tell(full, text, at, stored=100, **more)
    tell(full, "{Anna|lives_in|Rome}", 70, stored=101, name="Ben", user_id="eve")
    tell(full, "{Anna|lives_in|Oslo}", 71, stored=102, name="Carl", user_id="eve")
    undone = full.decisions(user_id="ada")[0]
    full.undo(undone.id, user_id="ada", now=day(103))
    full.sleep(now=day(104))
    full.add_skill("bread", trigger="hunger", steps=["bake"], user_id="ada", now=day(104))
    lines = list(full.export())
    empty.import_(lines)
    alone.import_(full.export(user_id="eve"))
    assert empty.digest() == full.digest()
    assert alone.digest() == full.digest(user_id="eve")
    for user in ("ada", "eve"):
        assert full.facts(user_id=user, archived=True) == empty.facts(user_id=user, archived=True)
        assert log(empty, user) == log(full, user)
        assert empty.profile(user_id=user) == full.profile(user_id=user)
        assert empty.conflicts(user_id=user) == full.conflicts(user_id=user)
        for world, system in ((10, 101), (40, 101), (10, 104), (40, 104)):
            times = {"as_of": day(world), "known_at": day(system)}
            assert plain(empty.facts(user_id=user, **times)) == plain(full.facts(user_id=user, **times))
    assert full.conflicts(user_id="eve") and any(decision.undone for decision in log(full))
    assert [found.skill for found in empty.find_skills("hunger", user_id="ada")] == [
        found.skill for found in full.find_skills("hunger", user_id="ada")
    ]
    assert empty.verify() == []
    for memory in (full, empty):  # both go on alike: what was undone stays so, and each can undo its latest
        tell(memory, "{Ben|lives_in|Bern} {user|likes|tea}", 90, stored=105)
        memory.undo(memory.decisions(user_id="ada")[0].id, user_id="ada", now=day(106))
        memory.sleep(now=day(107))
    assert empty.digest() == full.digest()
    assert bare(log(empty)) == bare(log(full))


def test_what_is_still_to_be_curated_is_exported_too(noted: Open) -> None:
    full, empty = noted("full.db"), noted("empty.db")
    tell(full, "{Ben|lives_in|Rome}", 1)
    say(full, "{Ben|lives_in|Oslo}", 2)
    moved = tell(full, "{Ben|likes|tea}", 3)
    full.delete(moved, user_id="ada", now=day(4))  # its group waits
    empty.import_(list(full.export()))
    assert empty.digest() == full.digest()
    full.flush()
    empty.flush()
    assert empty.digest() == full.digest()
    assert everything(empty) == everything(full)
    assert held(empty) == ["Oslo"]


def test_a_question_in_between_writes_nothing(memory: Memory, contents: Any, tmp_path: Any) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    before = contents(tmp_path / "store.db")
    assert "Rome" in memory.ask("Where does Ben live?", user_id="ada", now=day(2)).text
    memory.facts(user_id="ada")
    memory.timeline("Ben", "lives_in", user_id="ada")
    memory.conflicts(user_id="ada")
    memory.profile(user_id="ada")
    assert contents(tmp_path / "store.db") == before


@pytest.mark.parametrize("seed", [100, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(101, 120))])
def test_no_two_homes_at_any_time(seed: int, memory: Memory) -> None:
    """Whatever was said, a relation that holds one value at a time has one, but for what is in dispute."""
    for text, at, more in dialogue(seed, 40):
        say(memory, text, at, stored=100, **more)
    memory.flush()
    for hours in range(0, 62 * 24, 15):
        groups: dict[Any, list[Any]] = {}
        for fact in memory.facts(user_id="ada", as_of=day(hours / 24)):
            if fact.relation in ("lives_in", "works_at", "favourite"):
                groups.setdefault((fact.scope, fact.subject, fact.relation, fact.topic), []).append(fact)
        for group in groups.values():
            assert len(group) == 1 or {fact.status for fact in group} == {"disputed"}, group
