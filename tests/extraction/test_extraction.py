"""The extract job: what it refuses of a language model, and messages that change while they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import event

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Extraction, Statement, Unit
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.helpers.noting import NotedTasks, day, held, opener, say, tell

Open = Callable[..., Memory]


@pytest.fixture
def noted(open_memory: Open, light_surprise: Any) -> Open:
    return opener(open_memory, light_surprise)


class Tasks(NotedTasks):
    """Answers as told, and calls `happening` once while it reads."""

    def __init__(
        self, extracted: Sequence[Extraction] | None = None, happening: Callable[[], object] | None = None
    ) -> None:
        self.extracted, self.happening = extracted, happening
        self.read: list[str] = []

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        self.read += [unit.text for unit in units]
        if self.happening is not None:
            self.happening, happening = None, self.happening
            happening()
        return super().extract(units, listeners=listeners) if self.extracted is None else [*self.extracted]


LIVES = Statement("Ann", "lives_in", "Oslo", start=0, end=5)


@pytest.mark.parametrize(
    ("extracted", "said"),
    [
        ([], "extract was given 1 texts and returned 0 results"),
        ([Extraction((), ())] * 2, "extract was given 1 texts and returned 2 results"),
        ([Extraction(("One.",), (), ((0, 4), (4, 6)))], "extract returned 1 sentences and 2 spans"),
        ([Extraction((), (Statement("Ann", "befriends", "Bob"),))], "the relation 'befriends', which is not in"),
    ],
)
def test_what_does_not_fit_fails_the_job_and_stores_nothing(
    extracted: list[Extraction], said: str, noted: Open
) -> None:
    memory = noted(tasks=Tasks(extracted))
    say(memory, "Hello there.", 1)
    memory.flush()
    stats = memory.stats()
    assert stats.jobs_failed == 1 and any(said in failure for failure in stats.failures)
    assert dict(stats.units) == {"chunk": 1} and memory.facts(user_id="ada") == []
    assert not memory.log(user_id="ada")[0].encoded and memory.verify() == []


def test_sentences_without_places_are_units_that_say_nothing(noted: Open) -> None:
    memory = noted(tasks=Tasks([Extraction(("Ann lives in Oslo.", "It snows.", "It snows."), (LIVES,))]))
    tell(memory, "Hello there.", 1)
    assert dict(memory.stats().units) == {"chunk": 1, "atomic_fact": 2, "triple": 1}
    assert held(memory, now=day(2)) == ["Oslo"]


def test_a_sentence_says_the_statements_that_stand_in_it(noted: Open) -> None:
    """And leaves search while all of them are archived."""
    text = "Hello. Ann: Oslo. Bob: Rome."
    spans = ((0, 6), (7, 17), (18, 28))
    said = (
        Statement("Ann", "lives_in", "Oslo", start=7, end=17),
        Statement("Bob", "lives_in", "Rome", start=18, end=28),
    )
    tasks = Tasks([Extraction(tuple(text[start:end] for start, end in spans), said, spans)])
    memory = noted(tasks=tasks)
    tell(memory, text, 1)

    def shown() -> list[str]:
        kinds = ("atomic_fact", "triple")
        hits = memory.search("hello Ann Bob Oslo Rome", user_id="ada", kinds=kinds, now=day(9), top_k=20)
        return sorted(hit.text for hit in hits)

    everything = ["Ann lives in Oslo", "Ann: Oslo.", "Bob lives in Rome", "Bob: Rome.", "Hello."]
    assert shown() == everything
    tasks.extracted = None
    tell(memory, "{Ann|lives_in|Bern}", 2)
    assert [text for text in shown() if text in everything] == ["Bob lives in Rome", "Bob: Rome.", "Hello."]
    assert memory.verify() == []


def test_a_statement_of_nobody_is_dropped(noted: Open) -> None:
    memory = noted(tasks=Tasks([Extraction((), (Statement(" .", "lives_in", "Oslo"), LIVES))]))
    tell(memory, "Hello there.", 1)
    assert [(fact.subject, fact.object) for fact in memory.facts(user_id="ada", now=day(2))] == [("Ann", "Oslo")]


@pytest.mark.parametrize("deed", ["update", "erase", "delete"])
def test_a_message_that_changes_while_it_is_read(deed: str, noted: Open) -> None:
    """An edited one is read again, an erased one is done, a deleted one says nothing until it is restored.

    In each case the next one, which was read with it, is read again.
    """
    tasks = Tasks()
    memory, other = noted(tasks=tasks), noted()
    key = say(memory, "{Ann|lives_in|Oslo}", 1).id
    say(memory, "{Bob|lives_in|Bern}", 1)
    deeds = {
        "update": lambda: other.update(key, "{Ann|lives_in|Rome}", user_id="ada", now=day(2)),
        "erase": lambda: other.erase(user_id="ada", memory_id=key),
        "delete": lambda: other.delete(key, user_id="ada", now=day(2)),
    }
    tasks.happening = deeds[deed]
    memory.flush()
    again = ["{Ann|lives_in|Rome}"] * (deed == "update") + ["{Bob|lives_in|Bern}"]
    assert tasks.read == ["{Ann|lives_in|Oslo}", "{Bob|lives_in|Bern}", *again]
    assert held(memory, now=day(3)) == (["Bern", "Rome"] if deed == "update" else ["Bern"])
    stats = memory.stats()
    assert stats.jobs_queued == stats.jobs_failed == 0 and memory.verify() == []
    if deed == "delete":
        other.restore(key, user_id="ada", now=day(3))
        memory.flush()
        assert held(memory, now=day(4)) == ["Bern", "Oslo"]


def test_vectors_of_another_embedder_are_not_mixed_in(noted: Open) -> None:
    class Other(HashEmbedder):
        fingerprint = "other"  # type: ignore[assignment]

    tasks = Tasks()
    memory = noted(tasks=tasks)
    say(memory, "{Ann|lives_in|Oslo}", 1)
    tasks.happening = lambda: noted(embedder=Other()).reembed()
    memory.flush()
    stats = memory.stats()
    assert dict(stats.units) == {"chunk": 1} and any("embedder" in failure for failure in stats.failures)


def test_reading_again_replaces_what_was_read(noted: Open) -> None:
    tasks = Tasks([Extraction(("Ann lives in Oslo.",), (LIVES,))])
    memory = noted(tasks=tasks)
    tell(memory, "Hello there.", 1)
    tasks.extracted = [Extraction(("Nothing here.",), ())]
    assert memory.reextract(user_id="ada") == 1
    memory.flush()
    assert dict(memory.stats().units) == {"chunk": 1, "atomic_fact": 1} and held(memory, now=day(2)) == []
    assert memory.verify() == []


def test_a_batch_pays_for_no_record_and_no_rating_while_these_are_off(noted: Open) -> None:
    memory = noted()
    for number in range(4):
        say(memory, f"Hello number {number}.", 1)
    memory.flush()
    engine = memory.components.database._engine
    for again, read in ((False, 1), (True, 5)):
        if again:
            memory.reextract(user_id="ada")
        else:
            say(memory, "Hello again.", 1)
        seen: list[str] = []

        def note(_: Any, __: Any, statement: str, *___: Any, seen: list[str] = seen) -> None:
            seen.append(statement)

        event.listen(engine, "before_cursor_execute", note)
        memory.flush()
        event.remove(engine, "before_cursor_execute", note)
        assert [one for one in seen if one.startswith("DELETE") and "record" in one.split("WHERE")[0]] == []
        assert sum("memory_records" in one for one in seen) == 1, "one check for the batch"
        whole_rows = [one for one in seen if "episodes.encoded" in one and one.endswith("WHERE episodes.seq = ?")]
        assert len(whole_rows) == read, "each is loaded once, to be stored"
        assert not any(one.endswith("AND episodes.encoded = 0") for one in seen), "nothing is rated"
