"""mem0's operations from `Memory` under `papers/mem0`: what a scripted model chooses is what a search finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import Said, ScriptedEngine

DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
Reply = dict[str, Any]
ICE, GRILL, BOTH = "I like ice cream", "I like barbecue", "ada likes ice cream and barbecue"
AT_3, AT_4 = "I have a meeting with John at 3pm", "The meeting with John moved to 4pm"


class Model:
    """Notes each sentence of a message; chooses by the text of the new note (`plan`)."""

    def __init__(self) -> None:
        self.plan: dict[str, tuple[str, tuple[str, ...], str]] = {}
        self.asked: list[tuple[str, list[str]]] = []
        self.away = False

    def __call__(self, data: Reply) -> Said:
        if "sentences" in data:
            notes = [{"sentence": int(i), "text": text} for i, text in data["sentences"].items()]
            return {"statements": [], "notes": notes}
        if "new" not in data:
            return {"summary": "They talk."}
        if self.away:
            return EngineUnavailableError("away")
        new, known = data["new"]["fact"], {int(i): one["fact"] for i, one in data["known"].items()}
        self.asked.append((new, list(known.values())))
        for said, (operation, named, text) in self.plan.items():
            if said in new:
                facts = [i for i, one in known.items() if any(name in one for name in named)]
                return {"operation": operation, "facts": facts, "text": text}
        return {"operation": "ADD", "facts": []}


class Told:
    """A memory of ada under a preset, told one message after the other."""

    def __init__(self, path: Path, preset: str, embedder: Any, surprise_model: Any) -> None:
        self.model = Model()
        tasks = PromptedTasks(ScriptedEngine(self.model))
        self.memory = Memory(path, config=preset, tasks=tasks, embedder=embedder, surprise_model=surprise_model)
        self.said = 0

    def tell(self, text: str, day: int | None = None) -> str:
        self.said += 1
        when = DAY + timedelta(days=self.said if day is None else day)
        (added,) = self.memory.add(text, user_id="ada", timestamp=when, now=DAY + timedelta(days=30))
        self.memory.flush()
        assert self.memory.verify() == []
        return added.id

    def found(self) -> list[str]:
        """What a search finds, without the speaker."""
        hits = self.memory.search("likes meeting", user_id="ada", top_k=100)
        assert all(hit.unit.kind in ("atomic_fact", "triple") for hit in hits)
        return sorted(hit.text.removeprefix("user: ") for hit in hits)

    def undo_last(self) -> None:
        last = next(one for one in self.memory.decisions(user_id="ada") if not one.undone)
        self.memory.undo(last.id, user_id="ada")
        self.memory.flush()


@pytest.fixture
def told(tmp_path: Path, embedder: Any, light_surprise: Any) -> Iterator[Callable[..., Told]]:
    made: list[Told] = []

    def make(preset: str = "papers/mem0") -> Told:
        made.append(Told(tmp_path / f"{len(made)}.db", preset, embedder, light_surprise))
        return made[-1]

    yield make
    for one in made:
        one.memory.close()


def test_a_repetition_is_found_once(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {ICE: ("NOOP", ("ice cream",), ""), "fond of ice cream": ("NOOP", ("ice cream",), "")}
    first = ada.tell(ICE)
    ada.tell("I am fond of ice cream")
    ada.tell(ICE)
    assert ada.found() == [ICE]
    assert len(ada.memory.get_all(user_id="ada")) == 3, "nothing is lost"
    ada.memory.delete(first, user_id="ada")
    ada.memory.flush()
    assert ada.found(), "what the others repeat is gone, so they count"
    ada.memory.restore(first, user_id="ada")
    ada.memory.flush()
    assert ada.found() == [ICE] and ada.memory.verify() == []


def test_update_replaces_and_can_be_undone(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {"moved to 4pm": ("UPDATE", ("3pm",), "")}
    ada.tell(AT_3)
    ada.tell(AT_4)
    assert [known for _, known in ada.model.asked] == [[f"user: {AT_3}"]], "the model is asked once"
    assert ada.found() == [AT_4]
    assert ada.memory.decisions(user_id="ada")[0].action == "UPDATE"
    ada.undo_last()
    assert ada.found() == [AT_3] and ada.memory.verify() == []


def test_delete_stores_nothing_and_can_be_undone(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {"called off": ("DELETE", ("3pm",), "")}
    ada.tell(AT_3)
    ada.tell(ICE)
    off = ada.tell("The meeting with John is called off")
    assert ada.found() == [ICE]
    assert [fact.object for fact in ada.memory.facts(user_id="ada")] == [f"user: {ICE}"]
    ada.memory.sleep(user_id="ada", now=DAY + timedelta(days=30))
    assert [line.text for line in ada.memory.profile(user_id="ada")] == [f"user: {ICE}"]
    ada.memory.delete(off, user_id="ada")
    ada.memory.flush()
    assert ada.found() == [AT_3, ICE]
    ada.memory.restore(off, user_id="ada")
    ada.memory.flush()
    ada.undo_last()
    assert ada.found() == [AT_3, ICE] and ada.memory.verify() == []


def test_update_merges(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {GRILL: ("UPDATE", ("ice cream",), BOTH)}
    ice, grill = ada.tell(ICE), ada.tell(GRILL)
    assert ada.found() == [BOTH]
    (hit,) = ada.memory.search("barbecue", user_id="ada")
    assert set(hit.unit.episode_ids) == {ice, grill}
    assert BOTH in ada.memory.decisions(user_id="ada")[0].reason
    more = "ada likes ice cream, barbecue and pizza"
    ada.model.plan = {"pizza": ("UPDATE", ("barbecue",), more)}
    ada.tell("I like pizza")
    assert ada.model.asked[-1][1] == [BOTH] and ada.found() == [more]
    ada.undo_last()
    assert ada.found() == [BOTH]
    ada.undo_last()
    assert ada.found() == [ICE] and ada.memory.verify() == []


def test_a_merged_text_goes_with_either_message(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {GRILL: ("UPDATE", ("ice cream",), BOTH)}
    ice, grill = ada.tell(ICE), ada.tell(GRILL)
    for hidden, left in ((ice, GRILL), (grill, ICE)):
        ada.memory.delete(hidden, user_id="ada")
        assert BOTH not in ada.found()
        ada.memory.flush()
        assert ada.found() == [left]
        ada.memory.restore(hidden, user_id="ada")
        ada.memory.flush()
        assert ada.found() == [BOTH] and ada.memory.verify() == []
    ada.memory.reextract(user_id="ada")
    ada.memory.flush()
    assert ada.found() == [BOTH] and ada.memory.verify() == []
    receipt = ada.memory.erase(user_id="ada", memory_id=ice)
    assert receipt.found == 0
    ada.memory.flush()
    assert ada.found() == [GRILL] and ada.memory.verify() == []


def test_a_late_message_is_merged_too(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {ICE: ("UPDATE", ("barbecue",), BOTH)}
    ada.tell(GRILL, day=9)
    ada.tell(ICE, day=3)
    assert ada.found() == [BOTH]


def test_a_merge_that_changes_nothing_says_nothing_new(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {"adore": ("UPDATE", ("ice cream",), f"user: {ICE}")}
    ada.tell(ICE)
    ada.tell("I adore ice cream")
    assert ada.found() == [ICE] and ada.memory.decisions(user_id="ada")[0].action == "NOOP"


def test_while_the_model_is_away_all_is_found(told: Callable[..., Told]) -> None:
    ada = told()
    ada.model.plan = {"moved to 4pm": ("UPDATE", ("3pm",), "")}
    ada.tell(AT_3)
    ada.model.away = True
    ada.tell(AT_4)
    assert ada.found() == sorted([AT_3, AT_4])
    ada.model.away = False
    ada.memory.retry_failed()
    ada.memory.flush()
    assert ada.found() == [AT_4]


def test_notes_of_the_graph_are_merged_beside_its_triples(told: Callable[..., Told]) -> None:
    ada = told("papers/mem0_graph")
    ada.model.plan = {GRILL: ("UPDATE", ("ice cream",), BOTH)}
    ada.tell(ICE)
    ada.tell(GRILL)
    assert ada.found() == [BOTH]
    assert all(" : " not in text for text in ada.found())


def test_an_export_keeps_merged_texts(told: Callable[..., Told]) -> None:
    ada, other = told(), told()
    ada.model.plan = {GRILL: ("UPDATE", ("ice cream",), BOTH)}
    ada.tell(ICE)
    ada.tell(GRILL)
    other.memory.import_(list(ada.memory.export()))
    assert other.found() == [BOTH] and other.memory.digest() == ada.memory.digest() and other.memory.verify() == []
