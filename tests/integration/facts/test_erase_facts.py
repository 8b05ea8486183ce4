"""Erasing takes the facts along: no byte of what one message alone knew remains, and what others said does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import NotFoundError
from tests.helpers.noting import NotedTasks, day, everything, held, log, say, tell

Open = Callable[..., Memory]


def traces(folder: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """In which file which words still are: as written, in lower case, and in UTF-16."""
    found: dict[str, list[str]] = {}
    for path in folder.iterdir():
        data = path.read_bytes()
        for word in words:
            forms = {word, word.lower(), word.casefold()}
            if any(form.encode(code) in data for form in forms for code in ("utf-8", "utf-16-le")):
                found.setdefault(path.name, []).append(word)
    return found


def erase(memory: Memory, target: str, folder: Path, words: Iterable[str]) -> Any:
    """Erase a message, and look for what it alone knew: at once, after the next flush and sleep, and closed."""
    words = list(words)
    assert sorted({word for some in traces(folder, words).values() for word in some}) == sorted(words)
    receipt = memory.erase(user_id="ada", memory_id=target)
    assert not receipt.found
    assert traces(folder, words) == {}
    assert memory.verify() == []
    memory.flush()
    assert traces(folder, words) == {}
    assert not any(word.lower() in line.lower() for word in words for line in memory.export())
    assert memory.verify() == []
    return receipt


def test_names_that_one_message_knew_leave_no_byte(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "{Ben|lives_in|Rome} {Ben|likes|tea}", 1)
    target = tell(
        memory,
        "{Ben|lives_in|Llanfairpwll|was Vermillionville} {Ben|favourite/absinthe|Chartreuse} {Bartholomew|likes|tea}"
        " {Ben|likes|Kintsugi|not} {Quillhilda|works_at|Zugzwang Ltd|once}",
        2,
    )
    tell(memory, "{Ben|works_at|Acme}", 3)
    memory.sleep(now=day(4))
    words = ["Llanfairpwll", "Vermillionville", "absinthe", "Chartreuse", "Bartholomew", "Kintsugi", "Quillhilda",
             "Zugzwang"]  # fmt: skip
    receipt = erase(memory, target, tmp_path, words)
    assert receipt.rows["statements"] == 5 and receipt.rows["facts"] >= 5 and receipt.rows["decisions"] >= 5
    assert any("ben lives_in" in line for line in receipt.rebuilt)
    assert held(memory) == ["Acme", "Rome", "tea"]
    memory.sleep(now=day(5))
    memory.close()
    assert traces(tmp_path, words) == {}


def test_what_rests_on_other_messages_survives(memory: Memory) -> None:
    kept = tell(memory, "{Ben|lives_in|Rome} {Ben|likes|tea}", 1)
    target = tell(memory, "{Ben|lives_in|Oslo} {Ben|likes|tea} {Ben|likes|jazz}", 2)
    tell(memory, "{Ben|likes|jazz}", 3)
    memory.erase(user_id="ada", memory_id=target)
    memory.flush()
    facts = {fact.object: fact for fact in memory.facts(user_id="ada", archived=True)}
    assert set(facts) == {"Rome", "tea", "jazz"}
    assert {fact.status for fact in facts.values()} == {"active"}
    assert facts["tea"].strength == 1 and facts["tea"].episode_ids == (kept,)
    assert facts["jazz"].valid_from == day(3)
    assert all(target not in fact.episode_ids for fact in facts.values())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 30))])
def test_the_rest_is_as_if_the_message_had_never_been(seed: int, noted: Open) -> None:
    """The same facts, dates, strengths and reasons as in a store that was never told."""
    rng = random.Random(seed)
    saw, never = noted("saw.db"), noted("never.db")
    targets = []
    for i in range(14):
        mark = rng.choice(("", "", "|not", "|was Rome", "|sorry", "|once"))
        one, thing = rng.choice(("Rome", "Oslo", "Bern")), rng.choice(("tea", "jazz"))
        texts = (
            f"{{Ben|lives_in|{one}{mark}}}",
            f"{{Ben|likes|{thing}{mark}}}",
            f"{{Ben|dislikes|{thing}}} {{Anna|lives_in|{one}{mark}}}",
            f"{{{rng.choice(('user', 'Anna'))}|named|Ben}}",
        )
        text, at, name = rng.choice(texts), rng.randrange(40), rng.choice(("Ben", "Anna", "Carl"))
        added = tell(saw, text, at, stored=50, name=name)
        if i % 3 == 1:
            targets.append(added)
        else:
            tell(never, text, at, stored=50, name=name)
    rng.shuffle(targets)
    for target in targets:
        saw.erase(user_id="ada", memory_id=target)
        if rng.random() < 0.5:
            saw.flush()
    saw.flush()
    assert everything(saw) == everything(never)
    assert saw.verify() == []


def test_profile_lines_and_decisions_that_cite_it_go(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "{Ann|lives_in|Rome}", 1, name="Ann")
    target = tell(memory, "{Ann|owns|Stradivarius}", 2, name="Ann")
    memory.sleep(now=day(3))
    assert any("Stradivarius" in line.text for line in memory.profile(user_id="ada"))
    gone = [one.id for one in log(memory) if one.object == "Stradivarius"]
    erase(memory, target, tmp_path, ["Stradivarius"])
    assert [line.text for line in memory.profile(user_id="ada")] == ["Ann lives in Rome"]
    known = {fact.id for fact in memory.facts(user_id="ada", archived=True)}
    assert all(set(line.fact_ids) <= known for line in memory.profile(user_id="ada"))
    assert [one.object for one in log(memory)] == ["Rome"]
    for decision in gone:
        with pytest.raises(NotFoundError):
            memory.undo(decision, user_id="ada")


def test_the_sides_of_a_dispute_are_parted(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    target = tell(memory, "{Anna|lives_in|Llanfairpwll}", 2, name="Carl")
    assert len(memory.conflicts(user_id="ada")) == 1
    erase(memory, target, tmp_path, ["Llanfairpwll"])
    assert memory.conflicts(user_id="ada") == []
    assert [(fact.object, fact.status) for fact in memory.facts(user_id="ada")] == [("Rome", "active")]


def test_an_archived_value_takes_its_place_again(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    target = tell(memory, "{Ben|lives_in|Oslo}", 5)
    memory.erase(user_id="ada", memory_id=target)
    memory.flush()
    (rome,) = memory.timeline("Ben", "lives_in", user_id="ada")
    assert (rome.object, rome.status, rome.valid_to) == ("Rome", "active", None)
    assert held(memory, as_of=day(9)) == ["Rome"]
    assert held(memory, known_at=day(6)) in ([], ["Rome"]), "what was believed of it then is erased too"


def test_forgotten_and_deleted_messages_are_erased_too(memory: Memory, tmp_path: Path) -> None:
    faded = tell(memory, "{Ben|owns|Stradivarius}", 1)
    hidden = tell(memory, "{Ben|owns|Bergonzi}", 1)
    tell(memory, "{Ben|likes|tea}", 1)
    memory.sleep(now=day(800))
    memory.delete(hidden, user_id="ada", now=day(801))
    memory.flush()
    erase(memory, faded, tmp_path, ["Stradivarius"])
    erase(memory, hidden, tmp_path, ["Bergonzi"])
    for decision in reversed([one for one in log(memory) if one.action == "ARCHIVE"]):
        memory.undo(decision.id, user_id="ada", now=day(802))
    assert held(memory) == ["tea"]
    assert memory.verify() == []


def test_texts_that_were_replaced_or_undone_are_erased_with_their_message(memory: Memory, tmp_path: Path) -> None:
    target = tell(memory, "{Ben|owns|Stradivarius}", 1)
    memory.undo(log(memory)[0].id, user_id="ada", now=day(2))
    memory.update(target, "{Ben|owns|Bergonzi}", user_id="ada", now=day(3))
    memory.flush()
    memory.update(target, "{Ben|owns|Guarneri}", user_id="ada", now=day(4))
    erase(memory, target, tmp_path, ["Stradivarius", "Bergonzi", "Guarneri"])
    assert everything(memory) == [] and log(memory) == []


def test_a_message_that_waits_to_be_read_or_has_failed(noted: Open, tmp_path: Path) -> None:
    tasks = NotedTasks()
    memory = noted(tasks=tasks)
    tell(memory, "{Ben|lives_in|Rome}", 1)
    waiting = say(memory, "{Ben|owns|Stradivarius}", 1).id
    erase(memory, waiting, tmp_path, ["Stradivarius"])
    tasks.broken = "Bergonzi"
    failed = tell(memory, "{Ben|owns|Bergonzi}", 1)
    assert memory.stats().jobs_failed == 1
    erase(memory, failed, tmp_path, ["Bergonzi"])
    assert memory.stats().jobs_failed == 0
    assert held(memory) == ["Rome"]


def test_a_name_goes_with_the_message_that_stated_it(memory: Memory, tmp_path: Path) -> None:
    """Two were one because a message said so: without it they are two again."""
    tell(memory, "{user|lives_in|Rome}", 1, name=None)
    target = tell(memory, "My confession: {user|named|Bartholomew}", 2, name=None)
    tell(memory, "{Bartholomew|likes|tea}", 3, name="Anna")
    assert held(memory, subject="user") == ["Bartholomew", "Rome", "tea"]
    memory.erase(user_id="ada", memory_id=target)
    memory.flush()
    assert held(memory, subject="user") == ["Rome"]
    assert held(memory, subject="Bartholomew") == ["tea"]
    assert memory.verify() == []
    assert traces(tmp_path, ["confession"]) == {}


def test_merged_entities_of_which_one_is_erased(memory: Memory, tmp_path: Path) -> None:
    target = tell(memory, "{Konstantin|likes|tea}", 1)
    tell(memory, "{Konstantyn|lives_in|Oslo}", 2)
    memory.sleep(now=day(3))
    (proposal,) = [one for one in log(memory) if one.action == "PROPOSE"]
    memory.merge(proposal.id, user_id="ada", now=day(4))
    assert held(memory, subject="Konstantyn") == ["Oslo", "tea"]
    erase(memory, target, tmp_path, ["Konstantin"])
    assert held(memory, subject="Konstantyn") == held(memory) == ["Oslo"]
    assert not [one for one in log(memory) if one.action in ("PROPOSE", "MERGE")]


def test_agents_and_users_beside_it_keep_what_they_know(memory: Memory) -> None:
    for scope in ({"user_id": "eve"}, {"agent_id": "cook"}, {}):
        target = tell(memory, "{Ben|owns|Stradivarius}", 1, **scope)
    eve = memory.digest(user_id="eve")
    memory.sleep(user_id="ada", now=day(2))
    memory.erase(user_id="ada", memory_id=target)
    memory.flush()
    assert memory.digest(user_id="eve") == eve
    assert held(memory, agent_id="cook") == held(memory, user_id="eve") == ["Stradivarius"]
    assert [fact.scope.agent_id for fact in memory.facts(user_id="ada")] == ["cook"]


def test_an_erased_user_leaves_no_byte_of_facts_skills_and_profile(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1, user_id="bob")
    before = memory.digest(user_id="bob")
    tell(memory, "{Ann|owns|Stradivarius|was Bergonzi}", 1, name="Ann")
    tell(memory, "{Ann|owns|Guarneri}", 1, name="Wilhelmina", agent_id="Zugzwang")
    memory.add_skill("Kintsugi", trigger="broken porcelain", steps=["varnishing"], user_id="ada", now=day(2))
    memory.sleep(user_id="ada", now=day(3))
    words = ["Stradivarius", "Bergonzi", "Guarneri", "Wilhelmina", "Zugzwang", "Kintsugi", "porcelain", "varnishing"]
    assert sorted({word for some in traces(tmp_path, words).values() for word in some}) == sorted(words)
    receipt = memory.erase(user_id="ada")
    assert not receipt.found
    for table in ("statements", "facts", "decisions", "entities", "skills", "profile", "fact_namespaces"):
        assert receipt.rows[table] >= 1, table
    assert memory.digest(user_id="bob") == memory.digest() == before
    assert (everything(memory), log(memory), memory.profile(user_id="ada")) == ([], [], [])
    memory.close()
    assert traces(tmp_path, words) == {}


def test_erasing_does_not_bring_back_what_was_undone_of_others(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Rome}", 1)
    tell(memory, "{Ben|lives_in|Oslo}", 2)
    memory.undo(log(memory)[1].id, user_id="ada", now=day(3))
    target = tell(memory, "{Ben|lives_in|Bern}", 4)
    memory.erase(user_id="ada", memory_id=target)
    memory.flush()
    assert held(memory) == ["Rome"]
