"""What a later message ends or takes the ground from isn't an answer any more, and the answer says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.core.records import Answer
from tests.helpers.word_reader import KnowingReader, put_in_place

NOW = datetime(2026, 4, 1, 10, tzinfo=UTC)
JOB, TRAM, QUIT = "My job is at Lumora, on the harbour.", "Tram 7 brings me to my job.", "Handed in my badge, job done."
EFFECTS = {(JOB, QUIT): "ends", (JOB, TRAM): "rests"}
QUESTION = "Which tram brings me to my job?"


@pytest.fixture
def open_with(open_memory: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Memory]:
    def opened(word: str, effects: Mapping[tuple[str, str], str], name: str = "store.db") -> Memory:
        reading = put_in_place(KnowingReader(word, effects), monkeypatch, 0.1)
        config: dict[str, Any] = {
            "reading": reading,
            "standing": {"neighbours": 8, "forget_requests": False},
            "gate": {"rule": "everything"},
        }
        return open_memory(name, config=config)

    return opened


def tell(memory: Memory, *texts: str, first: int = 0) -> list[str]:
    ids = []
    for day, text in enumerate(texts, start=first):
        at = NOW + timedelta(days=day)
        ids += [added.id for added in memory.add(text, user_id="ada", timestamp=at, now=NOW + timedelta(days=20))]
    memory.flush()
    return ids


def ask(memory: Memory, question: str = QUESTION) -> Answer:
    return memory.ask(question, user_id="ada", now=NOW + timedelta(days=30))


def test_an_answer_whose_ground_has_gone_is_in_doubt_until_that_is_undone(open_with: Callable[..., Memory]) -> None:
    memory = open_with("Tram 7", EFFECTS)
    *_, end = tell(memory, JOB, TRAM, QUIT)
    answer = ask(memory)
    assert answer.abstained and answer.short == 'I don\'t know: "Tram 7" is in doubt since 3 April 2026'
    assert [item.text for item in answer.evidence] == [TRAM, QUIT]
    memory.delete(end, user_id="ada")
    assert (ask(memory).short, ask(memory).abstained) == ("Tram 7", False)
    memory.restore(end, user_id="ada")
    assert ask(memory).abstained
    memory.erase(user_id="ada", memory_id=end)
    assert ask(memory).short == "Tram 7"


def test_the_order_of_arrival_does_not_matter(open_with: Callable[..., Memory]) -> None:
    memory = open_with("Tram 7", EFFECTS)
    tell(memory, QUIT, first=2)
    tell(memory, TRAM, first=1)
    tell(memory, JOB)
    assert ask(memory).short == 'I don\'t know: "Tram 7" is in doubt since 3 April 2026'


def test_a_question_about_the_past_is_answered(open_with: Callable[..., Memory]) -> None:
    memory = open_with("Tram 7", EFFECTS)
    tell(memory, JOB, TRAM, QUIT)
    assert ask(memory, "Which tram brought me to my job?").short == "Tram 7"


def test_a_time_that_is_over_ends_an_answer(open_with: Callable[..., Memory]) -> None:
    memory = open_with("Nadia", {})
    tell(memory, "Until 9 April Nadia covers the desk.")
    question = "Who covers the desk?"
    assert memory.ask(question, user_id="ada", now=NOW + timedelta(days=8)).short == "Nadia"
    assert ask(memory, question).short == 'I don\'t know: "Nadia" held until 9 April 2026'


def test_search_ranks_the_message_that_ends_another_before_it(open_with: Callable[..., Memory]) -> None:
    memory = open_with("Tram 7", EFFECTS)
    tell(memory, JOB, TRAM, QUIT)
    hits = memory.search("Where is my job now?", user_id="ada", now=NOW + timedelta(days=30))
    texts = [hit.text for hit in hits]
    assert texts.index(QUIT) < texts.index(JOB)
    assert {hit.text for hit in hits if hit.renewed} >= {JOB, TRAM}


def test_effects_are_copied_with_a_store(open_with: Callable[..., Memory], tmp_path: Path) -> None:
    memory = open_with("Tram 7", EFFECTS)
    tell(memory, JOB, TRAM, QUIT)
    other = open_with("Tram 7", EFFECTS, "other.db")
    other.import_(memory.export())
    assert ask(other).abstained and other.verify() == []


def test_a_fact_whose_message_lost_its_ground_is_in_doubt(open_with: Callable[..., Memory]) -> None:
    home, lease = "Ysolde's home is in Kilkenny.", "The landlord sold the house over Ysolde's head."
    memory = open_with("zebra", {(home, lease): "voids"})
    _, by = tell(memory, home, lease)
    (fact,) = memory.facts(user_id="ada", now=NOW + timedelta(days=30))
    assert fact.in_doubt == f"in doubt since 2 April 2026, message {by}"
    answer = ask(memory, "Where does Ysolde live?")
    assert answer.abstained and answer.short == 'I don\'t know: "Kilkenny" is in doubt since 2 April 2026'
    (before,) = memory.facts(user_id="ada", now=NOW)
    assert not before.in_doubt
    tell(memory, home, first=3)  # told again
    (fact,) = memory.facts(user_id="ada", now=NOW + timedelta(days=30))
    assert not fact.in_doubt and ask(memory, "Where does Ysolde live?").short == "Kilkenny"


def test_a_caller_tells_what_a_message_depends_on(open_with: Callable[..., Memory]) -> None:
    memory = open_with("locker 9", {(JOB, QUIT): "ends"})
    (job,) = tell(memory, JOB)
    at = NOW + timedelta(days=1)
    (own,) = memory.add("My things are in locker 9.", user_id="ada", timestamp=at, now=at, depends_on=[job])
    memory.flush()
    question = "Where are my things?"
    assert ask(memory, question).short == "locker 9"
    tell(memory, QUIT, first=2)
    assert ask(memory, question).short == 'I don\'t know: "locker 9" is in doubt since 3 April 2026'
    memory.reextract(user_id="ada")
    memory.flush()
    assert ask(memory, question).abstained, "what was told stays"
    messages = len(memory.get_all(user_id="ada", now=at + timedelta(days=30)))
    with pytest.raises(NotFoundError):
        memory.add("My coat is there, too.", user_id="ada", now=NOW + timedelta(days=9), depends_on=["nobody"])
    with pytest.raises(InvalidInputError, match="can only depend on earlier ones"):
        memory.add("My coat is there, too.", user_id="ada", timestamp=NOW, now=at, depends_on=[own.id])
    assert len(memory.get_all(user_id="ada", now=at + timedelta(days=30))) == messages


def test_a_line_of_the_profile_in_doubt_says_so(open_with: Callable[..., Memory]) -> None:
    home, lease = "I live in Kilkenny.", "The landlord sold the house over my head."
    memory = open_with("zebra", {(home, lease): "voids"})
    tell(memory, home, lease)
    memory.sleep(user_id="ada", now=NOW + timedelta(days=25))
    (line,) = memory.profile(user_id="ada", now=NOW + timedelta(days=30))
    assert "Kilkenny" in line.text and "(in doubt since 2 April 2026" in line.text
    (line,) = memory.profile(user_id="ada", now=NOW)
    assert "in doubt" not in line.text
