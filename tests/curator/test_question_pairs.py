"""Question-answer pairs that sleep mines: found by search, with their sources, and gone with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message, QAPair, Unit
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.telling import day

TALK = (
    ("Ben", "The garden is done. Where did you buy the apple trees?"),
    ("Mia", "Glad to hear it! I bought the apple trees at the nursery in Lund."),
    ("Ben", "Nice. I painted the fence green."),
    ("Mia", "Good choice. My father repaired the roof of the barn."),
)
PAIR = "Ben asks Mia: Where did you buy the apple trees?\nMia: I bought the apple trees at the nursery in Lund."
ON: dict[str, Any] = {"question_pairs": {"enabled": True}, "reading": {"model": "bundled", "facts": "none"}}


def said(talk: Sequence[tuple[str, str]], at: int = 0, **about: Any) -> list[Message]:
    return [Message("user", text, day(at), name=name, session=f"day {at}", **about) for name, text in talk]


def texts(memory: Memory) -> list[str]:
    return [one.text for one in memory.derived("qa_pair", user_id="ada")]


@pytest.fixture
def told(open_memory: Callable[..., Memory], light_surprise: Any) -> Memory:
    memory = open_memory(config=ON, surprise_model=light_surprise)
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    return memory


def test_a_pair_is_found_with_its_sources(told: Memory) -> None:
    assert told.sleep(now=day(20), dry_run=True).derived_texts == 1
    report = told.sleep(now=day(20))
    assert (report.failures, report.derived_texts) == ((), 1)
    (pair,) = told.derived("qa_pair", user_id="ada")
    assert pair.text == PAIR and 0.5 <= pair.confidence <= 1
    asked, answered, *_ = told.get_all(user_id="ada", now=day(20))
    assert pair.episode_ids == (asked.id, answered.id)
    (hit,) = told.search("Where are the apple trees from?", user_id="ada", kinds=["qa_pair"], now=day(20))
    assert (hit.text, hit.unit.episode_ids, hit.id) == (PAIR, pair.episode_ids, hit.unit.id)
    found = told.search("apple trees", user_id="ada", now=day(20))
    assert {one.unit.kind for one in found} == {"chunk"}, "only where it is asked for"
    assert told.verify() == []


def test_it_is_mined_once_and_mining_recalls_nothing(told: Memory) -> None:
    told.sleep(now=day(20))
    before = told.digest()
    report = told.sleep(now=day(21))
    assert (report.derived_texts, report.promoted) == (0, 0) and told.digest() == before


@pytest.mark.parametrize("which", [0, 1, 3])
def test_gone_with_any_message_of_its_sitting(told: Memory, which: int) -> None:
    told.sleep(now=day(20))
    hurt = told.get_all(user_id="ada", now=day(20))[which].id
    assert told.erase(user_id="ada", memory_id=hurt).found == 0
    assert texts(told) == []
    assert told.search("apple trees", user_id="ada", kinds=["qa_pair"], now=day(20)) == []
    told.sleep(now=day(20))
    assert texts(told) == ([PAIR] if which == 3 else []) and told.verify() == []


class Telling(EmbeddedTasks):
    """Finds the pairs that a test hands in, in every sitting that has so many messages."""

    def __init__(self, *pairs: QAPair, least: int = 0) -> None:
        super().__init__()
        self.told, self.least = pairs, least
        self.asked: list[int] = []

    def pairs(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
        self.asked += [len(group) for group in groups]
        return [list(self.told) if len(group) >= self.least else [] for group in groups]


def pair(question: str, answer: str, *sources: int) -> QAPair:
    return QAPair(question, answer, sources, question)


WHERE = "Where did Mia buy the apple trees?"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (pair(WHERE, "the nursery in Lund", 1), True),
        (pair(WHERE, "the nursery in Lund by the sea", 1), False),  # more than is said
        (pair(WHERE, "the nursery in Lund", 2), False),  # not said there
        (pair(WHERE, "the nursery in Lund", 4), False),  # said there, but the memory has it from another message
        (pair(WHERE, "the apple trees", 1), False),  # said there, but the memory answers otherwise
        (pair(WHERE, "the barn", 3), False),  # said there, and no answer: the memory gives another
        (pair("What is the name of the moon's dog?", "Lund", 1), False),  # the memory does not tell
    ],
)
def test_only_what_the_memory_answers_is_kept(
    open_memory: Callable[..., Memory], light_surprise: Any, told: QAPair, kept: bool
) -> None:
    memory = open_memory(config=ON, tasks=Telling(told), surprise_model=light_surprise)
    talk = (*TALK, ("Ben", "My uncle painted the nursery in Lund."))
    list(memory.add_many(said(talk), user_id="ada", now=day(20)))
    report = memory.sleep(now=day(20))
    assert report.failures == () and texts(memory) == ([told.text] if kept else [])


@pytest.mark.parametrize("place", [-1, 4])
def test_a_source_outside_of_the_sitting_is_a_noted_failure(
    open_memory: Callable[..., Memory], light_surprise: Any, place: int
) -> None:
    memory = open_memory(
        config=ON, tasks=Telling(pair(WHERE, "the nursery in Lund", place)), surprise_model=light_surprise
    )
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    (failure,) = memory.sleep(now=day(20)).failures
    assert failure.startswith("JobError: pairs returned a pair with a source outside its 4 messages")
    assert texts(memory) == []


class Silent(Telling):
    """Answers for no sitting."""

    def pairs(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:  # noqa: ARG002
        return []


def test_too_few_answers_are_a_noted_failure(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    memory = open_memory(config=ON, tasks=Silent(), surprise_model=light_surprise)
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    (failure,) = memory.sleep(now=day(20)).failures
    assert failure == "JobError: pairs was given 1 sittings and returned 0 results; correct it"


def test_what_the_reader_is_not_sure_of_is_dropped(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    config = {**ON, "question_pairs": {"enabled": True, "sure": 1.0}}
    memory = open_memory(
        config=config, tasks=Telling(pair(WHERE, "the nursery in Lund", 1)), surprise_model=light_surprise
    )
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    assert (memory.sleep(now=day(20)).failures, texts(memory)) == ((), [])


def test_near_duplicates_are_dropped_within_a_sitting_and_across(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    once, again = pair(WHERE, "the nursery in Lund", 1), pair(WHERE, "nursery in Lund", 1)
    tasks = Telling(once, again)
    memory = open_memory(config=ON, tasks=tasks, surprise_model=light_surprise)
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    assert texts(memory) == [once.text]
    list(memory.add_many(said(TALK[:2], 3), user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    assert texts(memory) == [once.text] and tasks.asked == [4, 2], "only the new sitting is read"


@pytest.mark.parametrize("sleeps", [1, 2])
@pytest.mark.parametrize("how", ["erase", "delete"])
def test_a_near_duplicate_comes_back_once_the_other_one_goes(
    open_memory: Callable[..., Memory], light_surprise: Any, how: str, sleeps: int
) -> None:
    first, later = pair(WHERE, "the nursery in Lund", 1), pair(WHERE, "nursery in Lund", 1)
    tasks = Telling(first, least=2)
    memory = open_memory(config=ON, tasks=tasks, surprise_model=light_surprise)
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    if sleeps == 2:
        memory.sleep(now=day(20))
        tasks.told = (later,)
    list(memory.add_many(said(TALK[:2], 3), user_id="ada", now=day(20)))
    list(memory.add_many(said((*TALK[2:], *TALK[:2]), 4), user_id="ada", now=day(20)))  # tells nothing at place 1
    memory.sleep(now=day(20))
    assert texts(memory) == [first.text] and sum(tasks.asked) == 10
    ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(20))]
    tasks.asked.clear()
    if how == "erase":
        assert memory.erase(user_id="ada", memory_id=ids[1]).found == 0
    else:
        memory.delete(ids[1], user_id="ada")
    assert texts(memory) == [] and memory.verify() == []
    memory.sleep(now=day(20))
    (back,) = memory.derived("qa_pair", user_id="ada")
    assert back.text == tasks.told[0].text and ids[5] in back.episode_ids
    assert sorted(tasks.asked) == [2, 3], "the sitting that changed, and the one that left something out; not the third"
    if how == "delete":
        memory.restore(ids[1], user_id="ada")
        memory.sleep(now=day(20))
        assert texts(memory) == [back.text], "now the other one is left out"
        memory.delete(ids[5], user_id="ada")
        memory.sleep(now=day(20))
        assert texts(memory) == [tasks.told[0].text] and memory.verify() == []


def test_a_pair_that_is_not_among_the_surest_keeps_no_other_out(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    tasks = Telling(pair("What colour did Ben paint the fence?", "green", 2), pair(WHERE, "the nursery in Lund", 1))
    config = {**ON, "question_pairs": {"enabled": True, "most": 1}}
    memory = open_memory(config=config, tasks=tasks, surprise_model=light_surprise)
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    list(memory.add_many(said(TALK, 3), user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    assert sorted(texts(memory)) == sorted(one.text for one in tasks.told), "the surest of one, and what it left"


def test_an_export_keeps_what_was_left_out(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    tasks = Telling(pair(WHERE, "the nursery in Lund", 1))
    memory, other = (open_memory(f"{name}.db", config=ON, tasks=tasks, surprise_model=light_surprise) for name in "ab")
    other.add("I am somebody else.", user_id="bob", now=day(20))
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    list(memory.add_many(said(TALK[:2], 3), user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    other.import_(list(memory.export()))
    assert other.verify() == [] and len(texts(other)) == 1
    other.delete(other.get_all(user_id="ada", now=day(20))[1].id, user_id="ada")
    other.sleep(now=day(20))
    assert len(texts(other)) == 1 and other.verify() == []
    other.erase(user_id="ada")
    assert texts(other) == []


def test_sittings_are_read_apart_and_what_only_asks_the_memory_is_left_out(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    tasks = Telling()
    memory = open_memory(config=ON, tasks=tasks, surprise_model=light_surprise)
    list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
    list(memory.add_many(said(TALK[:3], 2), user_id="ada", now=day(20)))
    list(memory.add_many(said(TALK[:1], 2, metadata={ECHO: True}), user_id="ada", now=day(20)))
    list(memory.add_many(said(TALK[:2]), user_id="ada", agent_id="other", now=day(20)))
    memory.sleep(now=day(20))
    assert sorted(tasks.asked) == [2, 3, 4]


def test_the_surest_are_kept(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    config = {**ON, "question_pairs": {"enabled": True, "most": 1, "similar": 1.0}}
    color, where = pair("What colour is the fence of Ben?", "green", 2), pair(WHERE, "the nursery in Lund", 1)
    found = []
    for most in (2, 1):
        config["question_pairs"] = {"enabled": True, "most": most}
        memory = open_memory(f"{most}.db", config=config, tasks=Telling(color, where), surprise_model=light_surprise)
        list(memory.add_many(said(TALK), user_id="ada", now=day(20)))
        memory.sleep(now=day(20))
        found.append(memory.derived("qa_pair", user_id="ada"))
    (both, (one,)) = found
    assert [own.text for own in both] == [color.text, where.text]
    assert one.text == max(both, key=lambda own: own.confidence).text


def test_what_it_needs_is_named(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config={"question_pairs": {"enabled": True}})
    memory.add("hello", user_id="ada")
    with pytest.raises(ConfigError, match=r"question_pairs\.enabled needs a reader"):
        memory.sleep()
    with pytest.raises(ConfigError, match=r"'qa_pair', which is disabled"):
        open_memory("other.db", config={"retrieval": {"kinds": ["chunk", "qa_pair"]}})
