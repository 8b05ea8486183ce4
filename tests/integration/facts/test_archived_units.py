"""Triples and atomic facts whose facts are all archived are not among the hits, and come back with a fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Extraction, Unit
from nscma_torch.episodic.log import streams
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.semantic.store import facts
from tests.helpers.noting import NotedTasks, log, stated, tell
from tests.llm.scripted import ScriptedEngine, extraction, statement

Open = Callable[..., Memory]
KINDS = ("triple", "atomic_fact")
MADE: dict[str, Any] = {
    "facts": {"units": list(KINDS)},
    "gate": {"rule": "everything"},
    "hierarchy": {"enabled": False},
    "curator": {"initial_strength": 180.0},
}
LEEDS = {"user lives in Leeds", "user: I live in Leeds."}
PORTO = {"user lives in Porto", "user: I moved to Porto."}


def at(month: int, year: int = 2024) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def say(memory: Memory, said: str, month: int) -> str:
    added = memory.add(said, user_id="ada", timestamp=at(month), now=at(month))[0]
    memory.flush()
    assert memory.verify() == []
    return added.id


def hits(memory: Memory, now: datetime | None = None) -> set[str]:
    found = memory.search("Where do I live: Leeds or Porto?", user_id="ada", kinds=KINDS, now=now or at(12), top_k=50)
    return {hit.text for hit in found}


@pytest.fixture
def moved(open_memory: Open, light_surprise: Any) -> Memory:
    memory = open_memory("moved.db", MADE, surprise_model=light_surprise)
    say(memory, "I live in Leeds.", 1)
    assert hits(memory) == LEEDS
    say(memory, "I moved to Porto.", 2)
    return memory


def test_units_of_archived_facts_leave_search_and_chunks_stay(moved: Memory) -> None:
    assert hits(moved) == PORTO
    chunks = moved.search("Leeds", user_id="ada", kinds=("chunk",), now=at(12))
    assert "I live in Leeds." in {hit.text for hit in chunks}
    say(moved, "I moved back to Leeds.", 3)
    assert hits(moved) == {"user lives in Leeds", "user: I moved back to Leeds."}


def test_they_come_back_when_the_decision_is_undone(moved: Memory) -> None:
    (update,) = [one for one in log(moved) if one.action == "UPDATE"]
    moved.undo(update.id, user_id="ada", now=at(12))
    assert hits(moved) >= LEEDS and moved.verify() == []


def test_they_come_back_when_the_later_message_is_hidden_or_erased(moved: Memory) -> None:
    leeds, porto = (episode.id for episode in sorted(moved.log(user_id="ada"), key=lambda one: one.occurred_at))
    moved.delete(porto, user_id="ada")
    moved.flush()
    assert hits(moved) == LEEDS and moved.verify() == []
    moved.restore(porto, user_id="ada")
    moved.flush()
    assert hits(moved) == PORTO and moved.verify() == []
    moved.delete(leeds, user_id="ada")
    moved.restore(leeds, user_id="ada")
    assert hits(moved) == PORTO, "what is restored is not shown until its facts are resolved"
    moved.flush()
    receipt = moved.erase(memory_id=porto, user_id="ada")
    assert not receipt.found and receipt.rows["unit_statements"] == 2
    moved.flush()
    assert hits(moved) == LEEDS and moved.verify() == []
    moved.erase(user_id="ada")
    with moved.components.database.read(ALL_USERS) as connection:
        assert connection.execute(text("SELECT count(*) FROM unit_statements")).scalar_one() == 0


def test_a_sentence_stays_while_one_of_its_facts_holds(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory("several.db", MADE, surprise_model=light_surprise)
    say(memory, "I live in Leeds and I like tea.", 1)
    say(memory, "I moved to Porto.", 2)
    assert hits(memory) == {"user likes tea", "user: I live in Leeds and I like tea.", *PORTO}


@pytest.mark.parametrize("facts_first", [True, False])
def test_forgotten_facts_and_messages_that_are_brought_back(facts_first: bool, moved: Memory) -> None:
    later = at(1, 2034)
    moved.sleep(user_id="ada", now=later)
    assert hits(moved, later) == set() and moved.verify() == []
    forgotten = [one for one in log(moved) if "retention" in one.reason]
    for decision in sorted(forgotten, key=lambda one: bool(one.fact_ids) is not facts_first):
        assert hits(moved, later) == set(), "both are needed"
        moved.undo(decision.id, user_id="ada", now=later)
        assert moved.verify() == []
    assert hits(moved, later) == PORTO


def test_a_fact_that_is_archived_by_itself_takes_its_units_along(moved: Memory) -> None:
    (porto,) = moved.facts(user_id="ada")
    with moved.components.database.write(ALL_USERS) as connection:
        (row,) = facts.by_ids(connection, "ada", [porto.id])
        facts.archive(connection, [row.seq], by=facts.FORGETTING, reason="", at=row.recorded_at + 1)
        streams.touch_user(connection, "ada", changed=True)
    assert hits(moved) == set() and moved.verify() == []


def test_what_is_said_of_the_past_comes_back_with_its_decision_undone(noted: Open) -> None:
    memory = noted("past.db", {"facts": {"units": list(KINDS)}})
    tell(memory, "{user|lives_in|Leeds|once}", 1)
    assert hits(memory) == set() and memory.verify() == []
    (decision,) = log(memory)
    memory.undo(decision.id, user_id="ada", now=at(12))
    assert hits(memory) == {"user lives in Leeds: no longer"} and memory.verify() == []


def test_what_is_read_again_or_imported_is_as_before(moved: Memory, open_memory: Open, light_surprise: Any) -> None:
    before = moved.digest()
    assert moved.reextract(user_id="ada") == 2
    moved.flush()
    assert not moved.stats().failures
    assert hits(moved) == PORTO and moved.digest() == before and moved.verify() == []
    other = open_memory("other.db", MADE, surprise_model=light_surprise)
    other.import_(list(moved.export()))
    assert hits(other) == PORTO and other.digest() == before and other.verify() == []
    say(other, "I moved back to Leeds.", 3)
    assert hits(other) == {"user lives in Leeds", "user: I moved back to Leeds."}


def test_the_digest_is_that_of_one_batch(moved: Memory, open_memory: Open, light_surprise: Any) -> None:
    whole = open_memory("whole.db", MADE, surprise_model=light_surprise)
    for said, month in (("I live in Leeds.", 1), ("I moved to Porto.", 2)):
        whole.add(said, user_id="ada", timestamp=at(month), now=at(month))
    whole.flush()
    assert whole.digest() == moved.digest() and hits(whole) == PORTO
    with whole.components.database.write(ALL_USERS) as connection:
        connection.execute(text("DELETE FROM unit_statements"))
    assert whole.digest() != moved.digest(), "what a unit says decides about search later"


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        ("UPDATE units SET status = 'active' WHERE text = 'user lives in Leeds'", "is active, but by its message and"),
        ("UPDATE units SET status = 'archived' WHERE text = 'user lives in Porto'", "it should be active"),
        (
            "UPDATE OR IGNORE unit_statements SET statement_seq = (SELECT max(seq) FROM statements)",
            "states a statement from another message",
        ),
        ("UPDATE unit_statements SET user_id = 'bob'", "states a statement from another message"),
    ],
)
def test_damage_is_found(damage: str, finding: str, moved: Memory) -> None:
    with moved.components.database.write(ALL_USERS) as connection:
        assert connection.execute(text(damage)).rowcount
    assert any(finding in problem for problem in moved.verify())


def test_units_of_disputed_facts_stay(noted: Open) -> None:
    memory = noted("disputed.db", {"facts": {"units": ["triple"]}})
    tell(memory, "{Ann|likes|tea}", 1, name="Ben")
    tell(memory, "{Ann|dislikes|tea}", 1, name="Carl")
    assert {fact.status for fact in memory.facts(user_id="ada")} == {"disputed"} and memory.verify() == []
    found = memory.search("Does Ann like tea?", user_id="ada", kinds=("triple",), now=at(12))
    assert {hit.text for hit in found} == {"Ann likes tea", "Ann dislikes tea"}


class SentencesOf(NotedTasks):
    """Tasks that return what each unit says as one atomic fact, with these spans."""

    def __init__(self, spans: tuple[tuple[int, int], ...]) -> None:
        self._spans = spans

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        assert len(units) == len(listeners)
        return [Extraction((unit.text,), tuple(stated(unit.text)), self._spans) for unit in units]


@pytest.mark.parametrize(
    ("spans", "stays"),
    [((), True), (((0, 21),), False), (((1, 21),), True)],
    ids=["not known", "the statement", "a part of it"],
)
def test_a_sentence_goes_with_what_stands_in_its_span(
    spans: tuple[tuple[int, int], ...], stays: bool, noted: Open
) -> None:
    memory = noted("spans.db", {"facts": {"units": ["atomic_fact"]}}, tasks=SentencesOf(spans))
    tell(memory, "{user|lives_in|Oslo}", 1)
    tell(memory, "{user|lives_in|Rome}", 2)
    found = memory.search("Oslo or Rome?", user_id="ada", kinds=("atomic_fact",), now=at(12))
    assert ("{user|lives_in|Oslo}" in {hit.text for hit in found}) is stays
    assert memory.verify() == []


def test_notes_of_a_language_model_go_with_their_facts(open_memory: Open, light_surprise: Any) -> None:
    """A model writes several notes of one sentence; each goes with the facts that it names."""

    def reply(data: dict[str, Any]) -> dict[str, Any]:
        (sentence,) = data["sentences"].values()
        if "Porto" in sentence:
            return extraction(statement("I", "lives_in", "Porto"), notes=[(1, "I moved to Porto.")])
        read = statement("I", "lives_in", "Leeds"), statement("I", "works_at", "Velmora")
        return extraction(*read, notes=[(1, "I live in Leeds."), (1, "I work at Velmora."), (1, "in Leeds")])

    tasks = PromptedTasks(ScriptedEngine(reply))
    config = {**MADE, "reading": {"facts": "none"}}
    memory = open_memory("prompted.db", config, surprise_model=light_surprise, tasks=tasks)
    say(memory, "I live in Leeds, and I work at Velmora.", 1)
    assert {"user: I live in Leeds.", "user: I work at Velmora.", "user: in Leeds"} < hits(memory)
    say(memory, "I moved to Porto.", 2)
    assert {(fact.object, fact.status) for fact in memory.facts(user_id="ada", archived=True)} == {
        ("Leeds", "archived"), ("Velmora", "active"), ("Porto", "active")
    }  # fmt: skip
    assert hits(memory) == {"user works at Velmora", "user: I work at Velmora.", *PORTO}


def test_spans_that_do_not_fit_fail_the_job(noted: Open) -> None:
    memory = noted("wrong.db", {"facts": {"units": ["atomic_fact"]}}, tasks=SentencesOf(((0, 3), (4, 5))))
    memory.add("{user|lives_in|Oslo}", user_id="ada")
    memory.flush()
    assert "returned 1 sentences and 2 spans" in str(memory.stats().failures)
