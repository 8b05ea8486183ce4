"""Prompted tasks over a scripted engine: what they ask, what they take of the reply, and how they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import torch

from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.errors import EngineRefusedError, EngineUnavailableError, ReplyError
from nscma_torch.core.protocols import (
    CuratorTasks,
    FactTasks,
    LanguageTasks,
    LineTasks,
    QueryTasks,
    QuestionTasks,
    RecordTasks,
    ReflectionTasks,
    RetrievalTasks,
)
from nscma_torch.core.records import AskedQuestion, Extraction, Statement
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.read_statements import configured_facts
from nscma_torch.reading.relations import load_relations
from tests.helpers.plain_sentences import PlainSentences
from tests.llm.scripted import SAID, ScriptedEngine, data_of, extraction, hit, statement, unit


def reading(text: str, said: dict[str, Any], *, listener: str = "Eva") -> tuple[Extraction, int]:
    """What comes of a reply about one message of Ludger's to Eva, and how much of it was dropped."""
    tasks = PromptedTasks(ScriptedEngine(lambda _: said))
    (found,) = tasks.extract([unit(text)], listeners=[listener])
    return found, tasks.tally["ungrounded"]


def shown(found: Extraction) -> list[str]:
    marks = ("negated", "past", "correction")
    return [
        " | ".join(
            [s.subject, f"{s.relation} {s.topic}".strip(), s.object, *(m for m in marks if getattr(s, m)), s.replaces]
        ).strip(" |")
        for s in found.statements
    ]


@pytest.mark.parametrize(
    "protocol",
    [
        *(LanguageTasks, RetrievalTasks, QueryTasks, FactTasks, LineTasks),
        *(ReflectionTasks, QuestionTasks, RecordTasks, CuratorTasks),
    ],
)
def test_both_kinds_of_tasks_implement_every_protocol(protocol: type) -> None:
    assert isinstance(PromptedTasks(ScriptedEngine(lambda _: {})), protocol)
    assert isinstance(EmbeddedTasks(), protocol)


def test_a_prompt_names_every_relation_and_little_else() -> None:
    engine = ScriptedEngine(lambda _: extraction())
    PromptedTasks(engine).extract([unit("Hello. I'm in Oslo.")], listeners=[""])
    ((request,),) = engine.batches
    system, user = request.turns
    assert (system.role, user.role) == ("system", "user")
    assert all(f"\n- {name}: " in system.content for name in load_relations().relations)
    assert len(system.content) < 6000, "an 8B model reads about 1,500 tokens before the message"
    assert data_of(request.turns) == {
        "speaker": "Ludger",
        "listener": "",
        "said": "14 May 2026",
        "sentences": {"1": "Hello.", "2": "I'm in Oslo."},
    }


@pytest.mark.parametrize(
    ("text", "read", "stored"),
    [
        ("I live in Oslo.", statement("Ludger", "lives_in", "Oslo"), "Ludger | lives_in | Oslo"),
        ("I live in Oslo.", statement("I", "lives_in", "Oslo"), "Ludger | lives_in | Oslo"),
        ("You live in Oslo.", statement("Eva", "lives_in", "Oslo"), "Eva | lives_in | Oslo"),
        ("My sister lives in Oslo.", statement("my sister", "lives_in", "Oslo"), "Ludger's sister | lives_in | Oslo"),
        ("Kim is my sister.", statement("Kim", "sibling", "me"), "Kim | sibling | Ludger"),
        ("Kim is my sister.", statement("Ludger", "sibling", "Kim"), "Ludger | sibling | Kim"),
        (
            "I no longer smoke cigars.",
            statement("I", "likes", "cigars", state="not"),
            "Ludger | likes | cigars | negated",
        ),
        ("I quit.", statement("I", "works_at", "", state="not"), "Ludger | works_at |  | negated"),
        (
            "I used to live in Oslo.",
            statement("I", "lives_in", "Oslo", state="past"),
            "Ludger | lives_in | Oslo | past",
        ),
        (
            "I never lived in Oslo.",
            statement("I", "lives_in", "Oslo", state="never"),
            "Ludger | lives_in | Oslo | negated | correction",
        ),
        (
            "Sorry, I meant Bergen, not Oslo.",
            statement("I", "lives_in", "Bergen", state="corrected", replaces="Oslo"),
            "Ludger | lives_in | Bergen | correction | Oslo",
        ),
        (
            "My favourite colour is blue.",
            statement("I", "favourite", "blue", topic="Colour"),
            "Ludger | favourite color | blue",
        ),
        ("I live in Oslo.", statement("I", "lives_in", "Oslo", topic="town"), "Ludger | lives_in | Oslo"),
        ("我住在成都。", statement("我", "lives_in", "成都"), "Ludger | lives_in | 成都"),
        ("I was painting boats.", statement("I", "practises", "paint boats"), "Ludger | practises | paint boats"),
        ("Hi! I live in Oslo.", statement("I", "lives_in", "Oslo", sentence=1), "Ludger | lives_in | Oslo"),
    ],
)
def test_what_a_text_bears_out_is_stored(text: str, read: dict[str, Any], stored: str) -> None:
    found, dropped = reading(text, extraction(read))
    assert (shown(found), dropped) == ([stored], 0)
    (one,) = found.statements
    assert text[one.start : one.end] in [sentence + mark for sentence in text.split("! ") for mark in ("", "!")]


@pytest.mark.parametrize(
    "read",
    [
        statement("Ludger", "lives_in", "Bergen"),  # no word of it
        statement("Ludger", "lives_in", "Oslo, Norway"),  # more than it says
        statement("Tom", "lives_in", "Oslo"),  # nobody named it
        statement("Eva", "lives_in", "Oslo"),  # nobody said you
        statement("he", "lives_in", "Oslo"),  # who?
        statement("Ludger", "lives_in", ""),
        statement("Ludger", "lives_in", "Ludger"),
        statement("Ludger", "friend", "Eva"),
        statement("Ludger", "lives_in", "Oslo", sentence=7),
        statement("Ludger", "lives_in", "os"),  # a word's beginning
        statement("Ludger", "lives_in", "the"),
        statement("Ludger", "favourite", "Oslo", topic="city"),
        statement("Ludger", "favourite", "Oslo", topic=""),
    ],
)
def test_what_a_text_does_not_say_is_dropped_and_counted(read: dict[str, Any]) -> None:
    assert reading("I live in Oslo.", extraction(read)) == (Extraction(), 1)


def test_an_object_that_was_not_named_replaces_nothing() -> None:
    found, dropped = reading("I moved to Oslo.", extraction(statement("I", "lives_in", "Oslo", replaces="Bergen")))
    assert (shown(found), dropped) == (["Ludger | lives_in | Oslo"], 1)


def test_what_takes_the_place_of_one_of_many_ends_it() -> None:
    read = statement("I", "likes", "tea", replaces="coffee")
    found, _ = reading("I now like tea instead of coffee.", extraction(read))
    assert shown(found) == ["Ludger | likes | tea | coffee", "Ludger | likes | coffee | negated"]


def test_times_are_read_by_rule_as_the_embedded_tasks_read_them() -> None:
    text = "Hi. I have lived in Oslo since March 2020."
    found, _ = reading(text, extraction(statement("I", "lives_in", "Oslo", sentence=2)))
    (embedded,) = EmbeddedTasks(read_facts=PlainSentences).extract([unit(text)], listeners=["Eva"])
    assert [s.valid_from for s in found.statements] == [datetime(2020, 3, 1, tzinfo=UTC)]
    assert [replace(s, start=0, end=0) for s in found.statements] == [
        replace(s, start=0, end=0) for s in embedded.statements
    ]


@pytest.mark.parametrize(
    ("note", "stored", "dropped"),
    [
        ("Ludger moved to Oslo last week.", "Ludger: Ludger moved to Oslo last week [4 May 2026 to 10 May 2026].", 0),
        ("Ludger moved to Rome last week.", "Ludger: I moved to Oslo last week [4 May 2026 to 10 May 2026].", 1),
        ("Ludger never moved to Oslo.", "Ludger: I moved to Oslo last week [4 May 2026 to 10 May 2026].", 1),
    ],
)
def test_a_note_says_no_more_than_its_sentence(note: str, stored: str, dropped: int) -> None:
    found, count = reading("I moved to Oslo last week.", extraction(notes=[(1, note), (9, "Ludger moved.")]))
    assert (found.sentences, count) == ((stored,), dropped + 1)


def test_the_same_is_stored_once() -> None:
    read = statement("I", "lives_in", "Oslo")
    found, _ = reading(
        "I live in Oslo.", extraction(read, {**read, "subject": "Ludger"}, notes=[(1, "I live in Oslo.")] * 2)
    )
    assert len(found.statements) == len(found.sentences) == 1


def cities(data: dict[str, Any]) -> dict[str, Any]:
    """Reads "NAME lives in CITY." and nothing else, without a mistake."""
    read = []
    for number, sentence in data["sentences"].items():
        name, verb, place = sentence.rstrip(".").partition(" lives in ")
        if verb:
            read.append(statement(name, "lives_in", place, sentence=int(number)))
    return extraction(*read)


def test_a_batch_is_one_call_and_nothing_at_all_is_none() -> None:
    engine = ScriptedEngine(cities)
    tasks = PromptedTasks(engine)
    found = tasks.extract([unit(f"Kim{i} lives in Oslo.") for i in range(9)], listeners=[""] * 9)
    assert [shown(one) for one in found] == [[f"Kim{i} | lives_in | Oslo"] for i in range(9)]
    assert [len(batch) for batch in engine.batches] == [9]
    assert (
        tasks.extract([], listeners=[]) == tasks.summarize([]) == tasks.rerank("a?", []) == tasks.select("a?", []) == []
    )
    assert len(engine.batches) == 1


def test_what_the_reader_is_sure_of_is_not_asked() -> None:
    engine = ScriptedEngine(cities)
    read = EmbeddedTasks(read_facts=configured_facts(ReadingConfig(), load_relations(), torch.device("cpu")))
    tasks = PromptedTasks(engine, extract_surely=partial(read.extract_surely, least=0.9))
    texts = ["Thanks, see you on Friday!", "Kim1 lives in Oslo.", "Kim2 lives in Oslo 明天见。", "小明住在北京。"]
    found = tasks.extract([unit(text) for text in texts], listeners=[""] * 4)
    asked = [text for text in texts if any(text in str(request.turns) for request in engine.batches[0])]
    assert texts[3] in asked  # in a language that the reader does not know
    assert texts[0] not in asked
    assert tasks.tally["spared"] == 4 - len(asked)
    assert shown(found[1]) == ["Kim1 | lives_in | Oslo"]  # by whomever
    alone = read.extract([unit(texts[0])], listeners=[""])
    assert found[0] == alone[0]


def test_what_succeeded_of_a_batch_that_failed_is_not_asked_again() -> None:
    bad = {"Kim3", "Kim5"}

    def reply(data: dict[str, Any]) -> Any:
        name = data["sentences"]["1"].split()[0]
        return EngineUnavailableError("away") if name in bad else cities(data)

    engine = ScriptedEngine(reply)
    tasks = PromptedTasks(engine)
    units = [unit(f"Kim{i} lives in Oslo.") for i in range(9)]
    with pytest.raises(EngineUnavailableError, match=r"2 of 9 requests failed, the others are kept; the first: away"):
        tasks.extract(units, listeners=[""] * 9)
    bad.remove("Kim3")
    with pytest.raises(EngineUnavailableError, match="1 of 9"):
        tasks.extract(units, listeners=[""] * 9)
    assert tasks.extract(units[:1], listeners=[""])[0].statements
    bad.clear()
    found = tasks.extract(units, listeners=[""] * 9)
    assert [shown(one) for one in found] == [[f"Kim{i} | lives_in | Oslo"] for i in range(9)]
    assert [len(batch) for batch in engine.batches] == [9, 2, 2]  # the unit that was asked for alone was forgotten
    assert tasks.tally == {"requests": 13, "failed": 3, "tokens": tasks.tally["tokens"], "ungrounded": 0}
    tasks.extract(units, listeners=[""] * 9)
    assert len(engine.batches[-1]) == 9, "what has succeeded is not remembered"


@pytest.mark.parametrize("said", ["", "{}", '{"statements": [], "notes": 0}', "no facts here"])
def test_an_unusable_reply_is_an_error_and_no_empty_result(said: str) -> None:
    engine = ScriptedEngine(lambda _: said)
    tasks = PromptedTasks(engine)
    hits = [hit("Kim lives in Oslo.")]
    calls: list[Callable[[], object]] = [
        lambda: tasks.extract([unit("I live in Oslo.")], listeners=[""]),
        lambda: tasks.summarize([[unit("I live in Oslo.")]]),
        lambda: tasks.rerank("where?", hits),
        lambda: tasks.select("where?", hits),
        lambda: tasks.refine("where?", hits),
        lambda: tasks.answer(AskedQuestion("where?", 1.0), hits),
    ]
    for call in calls:
        engine.batches.clear()
        with pytest.raises(ReplyError):
            call()
        assert [len(batch) for batch in engine.batches] == [1, 1], "asked, and asked once more"


def test_a_relation_that_was_not_offered_is_no_reply() -> None:
    said = extraction(statement("Ludger", "hates", "Oslo"))
    with pytest.raises(ReplyError, match="relation"):
        reading("I live in Oslo.", said)


def test_a_text_that_does_not_fit_fails_alone_and_visibly() -> None:
    engine = ScriptedEngine(cities, context=3000)
    tasks = PromptedTasks(engine)
    units = [unit("Kim lives in Oslo."), unit("Kim lives in Oslo. " * 300)]
    with pytest.raises(EngineRefusedError, match=r"is too long: scripted accepts 3000 in all.*raise llm\.context"):
        tasks.extract(units, listeners=["", ""])
    assert [len(batch) for batch in engine.batches] == [1], "what fits was asked, and is kept"
    assert tasks.extract(units[:1], listeners=[""])[0].statements
    assert len(engine.batches) == 1


def test_statements_are_records_of_their_message() -> None:
    found, _ = reading("I live in Oslo.", extraction(statement("I", "lives_in", "Oslo")))
    assert found.statements == (Statement("Ludger", "lives_in", "Oslo", confidence=0.9, start=0, end=15),)
    assert SAID.tzinfo is UTC
