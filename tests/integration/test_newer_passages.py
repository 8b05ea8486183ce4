"""A fact answers unless the reader is sure of a newer passage that changes it, and the trace says why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Answer, Message
from tests.helpers.plain_sentences import read_plainly
from tests.helpers.word_reader import WordReader, put_in_place

NOW = datetime(2026, 4, 1, 10, tzinfo=UTC)
HOME = "Ysolde's home is in Kilkenny."
ROOTS = "After all that time in Kilkenny, Ysolde has put down roots in Sibiu."
Open = Callable[..., Memory]


def told(memory: Memory, *messages: str) -> Memory:
    for day, text in enumerate(messages):
        memory.add(text, user_id="ada", timestamp=NOW + timedelta(days=day), now=NOW + timedelta(days=day))
    memory.flush()
    return memory


def asked(memory: Memory, question: str = "Where does Ysolde live?", **when: Any) -> Answer:
    return memory.ask(question, user_id="ada", now=NOW + timedelta(days=9), **when)


@pytest.fixture
def read_by(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Memory]:
    def opened(reader: WordReader, sure: float = 0.1, **sections: Any) -> Memory:
        return open_memory(config={"reading": put_in_place(reader, monkeypatch, sure), **sections})

    return opened


def test_the_bundled_reader_takes_the_newer_value(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    read_plainly(monkeypatch)
    monkeypatch.setattr("nscma_torch.answering.from_facts.REPLACES", 0.2)
    reading = {"model": "bundled", "sure": 0.6, "answerable": 0.5}
    settled = "Ysolde has given up the flat in Kilkenny and settled in Sibiu."
    memory = told(open_memory(config={"reading": reading}), HOME, settled)
    assert [fact.object for fact in memory.facts(user_id="ada", now=NOW + timedelta(days=9))] == ["Kilkenny"]
    answer = asked(memory)
    short, quoted = answer.text.splitlines()[:2]
    assert short.startswith("Sibiu") and settled in quoted and answer.evidence[0].text == settled
    assert answer.trace[-1].startswith("'Sibiu', of 2 April 2026, is newer than 'Kilkenny', which it ")
    assert answer.query is not None, "a next question can follow"


def test_what_is_no_change_leaves_the_fact(read_by: Callable[..., Memory]) -> None:
    reader = WordReader("Sibiu", "none")
    answer = asked(told(read_by(reader), HOME, ROOTS))
    assert (answer.text, answer.confidence) == ("Kilkenny", 0.9)
    assert reader.pairs == [(f"ada: {HOME}", ROOTS)]
    assert answer.trace[-1] == "1 later messages on the topic change nothing (0.00)" and not reader.questions


@pytest.mark.parametrize("change", ["replaces", "corrects", "ends", "cancels"])
def test_each_kind_of_change_counts(change: str, read_by: Callable[..., Memory]) -> None:
    answer = asked(told(read_by(WordReader("Sibiu", change)), HOME, ROOTS))
    assert answer.text.startswith("Sibiu") and f"which it {change} (1.00)" in answer.trace[-1]


@pytest.mark.parametrize(
    ("reader", "sure"),
    [(WordReader("Kilkenny."), 0.1), (WordReader("Sibiu"), 1.0)],
    ids=["it reads the old value", "it is not sure"],
)
def test_where_the_new_value_is_not_surely_read_both_are_shown(
    reader: WordReader, sure: float, read_by: Callable[..., Memory]
) -> None:
    answer = asked(told(read_by(reader, sure), HOME, ROOTS))
    assert answer.text == f"not sure: user, 2 April 2026: {ROOTS}\nuser, 1 April 2026: {HOME}"
    assert (answer.confidence, answer.facts) == (0.45, ()) and reader.pairs
    assert answer.trace[-1].endswith("2 April 2026 is newer than the facts, and replaces what they say (1.00)")


@pytest.mark.parametrize(("bar", "text"), [(1.1, "Kilkenny"), (0.7, "not sure: ")])
def test_a_newer_message_that_states_something_else_needs_a_surer_change(
    bar: float, text: str, read_by: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nscma_torch.answering.from_facts.CHANGED_OTHERWISE", bar)
    reader = WordReader("Kilkenny.")
    answer = asked(told(read_by(reader), HOME, "Ysolde is vegan."))
    assert answer.text.startswith(text) and reader.pairs


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        (("I work at Lidl.", "The cat is ill.", "I quit my job."), "Where do I work?"),
        (("I work at Lidl.", "Lidl let me go."), "Where do I work?"),
        (("I live in Rome.", "Rome is behind me now."), "Where do I live?"),
    ],
)
def test_a_message_that_names_the_value_alone_may_end_it(
    messages: tuple[str, ...], question: str, read_by: Callable[..., Memory]
) -> None:
    memory = told(read_by(WordReader("zebra", "ends")), *messages)
    assert asked(memory, question).text.startswith("not sure: user, ")


def test_what_was_said_before_the_fact_is_no_news(read_by: Callable[..., Memory]) -> None:
    reader = WordReader("Sibiu", "none")
    answer = asked(told(read_by(reader), ROOTS, HOME, "Ysolde is happy."))
    assert answer.text == "Kilkenny" and [later for _, later in reader.pairs] == ["Ysolde is happy."]


def test_the_value_in_more_words_is_no_other_value(read_by: Callable[..., Memory]) -> None:
    answer = asked(told(read_by(WordReader("Kilkenny town")), HOME, "Ysolde is fond of Kilkenny town."))
    assert answer.text == "Kilkenny"
    assert answer.trace[-1] == "read: 'Kilkenny town' of 2 April 2026, which agrees with the facts"


def test_without_a_reader_the_fact_answers(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    read_plainly(monkeypatch)
    assert asked(told(open_memory(config={"reading": {"model": "none"}}), HOME, ROOTS)).text == "Kilkenny"


@pytest.mark.parametrize("messages", [(HOME,), (ROOTS, HOME), (HOME, "The cat is ill.")])
def test_where_nothing_newer_names_it_nothing_is_read(
    messages: tuple[str, ...], read_by: Callable[..., Memory]
) -> None:
    reader = WordReader("Sibiu")
    assert asked(told(read_by(reader), *messages)).text == "Kilkenny"
    assert not reader.questions and not reader.pairs


@pytest.mark.parametrize(
    ("messages", "question", "answer"),
    [
        (("Ysolde is allergic to nuts.", "Ysolde is happy."), "What is Ysolde allergic to?", "nuts"),
        (("Ysolde moved to Rome in 2019.", "Ysolde is happy."), "When did Ysolde move to Rome?", "2019"),
        ((HOME, "Ysolde moved to Rome.", "Ysolde is happy."), "Where did Ysolde live before?", "Kilkenny"),
        (("I live in Rome.", "I no longer live in Rome.", "I live and love."), "Where do I live?", "none now"),
    ],
)
def test_many_values_what_was_and_what_ended_are_not_held_against(
    messages: tuple[str, ...], question: str, answer: str, read_by: Callable[..., Memory]
) -> None:
    reader = WordReader("Sibiu")
    assert asked(told(read_by(reader), *messages), question).text == answer
    assert not reader.pairs and not reader.questions


def test_the_next_message_may_renew_without_naming_it(read_by: Callable[..., Memory]) -> None:
    reader, news = WordReader("sibiu"), "well, make that sibiu"
    memory = read_by(reader)
    messages = [Message("user", text, NOW + timedelta(hours=i)) for i, text in enumerate((HOME, news))]
    memory.add(messages, user_id="ada", now=NOW + timedelta(days=1))
    memory.flush()
    assert asked(memory).text.startswith("sibiu") and reader.pairs == [(f"ada: {HOME}", news)]


@pytest.mark.parametrize(
    ("messages", "question", "answer"),
    [
        ((HOME, ROOTS), "Ysolde住在哪里？", "Kilkenny"),
        (("我的预算是3000元。", "把它改成3500元。"), "我的预算是多少？", "不确定"),
    ],
    ids=["a fact", "a fact that may be renewed"],
)
def test_a_question_in_chinese_is_answered_from_facts_and_never_by_the_english_reader(
    messages: tuple[str, ...], question: str, answer: str, read_by: Callable[..., Memory]
) -> None:
    reader = WordReader("Sibiu" if ROOTS in messages else "3500")
    memory = told(read_by(reader, sure=0.0, answer={"min_answerability": 0.0}), *messages)
    found = asked(memory, question)
    assert found.text.startswith(answer) and found.trace[0].startswith("read as ") and len(found.trace) <= 3
    assert not reader.pairs and not reader.questions


def test_questions_about_it_hide_no_newer_message(read_by: Callable[..., Memory]) -> None:
    reader = WordReader("Sibiu")
    asking = ("Is Ysolde vegan?", "Does Ysolde like Rome?", "How old is Ysolde?", "Who is Ysolde?", "Is Ysolde home?")
    assert asked(told(read_by(reader), HOME, ROOTS, *asking)).text.startswith("Sibiu")
    assert reader.pairs == [(f"ada: {HOME}", ROOTS)]


def test_an_answer_without_a_message_behind_it_stands(read_by: Callable[..., Memory]) -> None:
    memory = told(read_by(WordReader("apple")), "Mary went to the kitchen.", "Mary saw the apple.")
    answer = asked(memory, "What is Mary carrying?")
    assert (answer.text, answer.facts, answer.evidence) == ("nothing", (), ())


def test_the_past_is_not_renewed(read_by: Callable[..., Memory]) -> None:
    reader = WordReader("Sibiu")
    memory = told(read_by(reader), HOME, ROOTS)
    assert asked(memory, as_of=NOW + timedelta(hours=1)).text == "Kilkenny"
    assert not reader.questions and not reader.pairs


@pytest.mark.parametrize(("word", "first"), [("3000", "not sure: "), ("3500", "3500")])
def test_where_a_fact_may_be_renewed_no_older_passage_answers(
    word: str, first: str, read_by: Callable[..., Memory]
) -> None:
    memory = told(read_by(WordReader(word)), "My budget is 3000.", "Actually make that 3500.")
    assert asked(memory, "What is my budget?").text.startswith(first)


def test_another_user_renews_nothing(read_by: Callable[..., Memory]) -> None:
    reader = WordReader("Sibiu")
    memory = told(read_by(reader), HOME)
    memory.add(ROOTS, user_id="ben", timestamp=NOW + timedelta(days=1), now=NOW + timedelta(days=1))
    memory.flush()
    assert asked(memory).text == "Kilkenny" and not reader.questions
