"""Prompted tasks over a scripted engine: what they ask, what they take of the reply, and how they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from nscma_torch.errors import EngineError, EngineRefusedError, EngineUnavailableError, ReplyError
from nscma_torch.llm.embedded import EmbeddedTasks
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.llm.prompts import tasks as prompts
from nscma_torch.protocols import CuratorTasks, LanguageTasks, RetrievalTasks
from nscma_torch.records import Extraction, Statement
from nscma_torch.relations import load_relations
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


def test_they_do_all_that_the_embedded_ones_do() -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {}))
    assert isinstance(tasks, LanguageTasks)
    assert isinstance(tasks, RetrievalTasks)


def test_every_form_is_bounded() -> None:
    schema = load_relations()
    for form in (
        prompts.extraction_form(schema),
        prompts.SummaryForm,
        prompts.scores_form(20),
        prompts.choices_form(3),
        prompts.QuestionForm,
        prompts.answer_form(10),
        prompts.verdict_form(2),
    ):
        assert schema_of(form)["additionalProperties"] is False
    offered = schema_of(prompts.extraction_form(schema))["$defs"]["RelationName"]["enum"]
    assert offered == list(schema.relations)


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
    (embedded,) = EmbeddedTasks().extract([unit(text)], listeners=["Eva"])
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
        lambda: tasks.answer("where?", hits, support=1.0),
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
    with pytest.raises(EngineRefusedError, match=r"does not fit: scripted takes 3000 in all.*raise llm\.context"):
        tasks.extract(units, listeners=["", ""])
    assert [len(batch) for batch in engine.batches] == [1], "what fits was asked, and is kept"
    assert tasks.extract(units[:1], listeners=[""])[0].statements
    assert len(engine.batches) == 1


def first_words(data: dict[str, Any]) -> dict[str, Any]:
    texts = [text if isinstance(text, str) else text["text"] for text in data["texts"]]
    return {"summary": " ".join(word for text in texts for word in text.split() if word.startswith("w"))}


def test_a_group_that_does_not_fit_is_summarized_in_parts() -> None:
    engine = ScriptedEngine(first_words, context=2048)
    tasks = PromptedTasks(engine)
    groups = [[unit(f"w{g}.{i} {'filler ' * 40}") for i in range(n)] for g, n in enumerate((2, 25, 1))]
    texts = tasks.summarize(groups)
    assert [text.split() for text in texts] == [[f"w{g}.{i}" for i in range(n)] for g, n in enumerate((2, 25, 1))]
    assert len(engine.batches) == 2, "one batch for the parts of all groups, one for their summaries together"
    assert len(engine.batches[0]) > 4
    assert len(engine.batches[1]) == 1
    with pytest.raises(EngineRefusedError, match="does not fit"):
        tasks.summarize([[unit("word " * 2000)]])


def test_a_summary_that_cannot_shrink_fails() -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"summary": "w" * 1800}, context=1800), summary_words=2000)
    with pytest.raises(EngineRefusedError, match="no two of"):
        tasks.summarize([[unit("x" * 600)] * 6])


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("One two three. Four five six.", "One two three."),
        ("One two three. Four five.", "One two three. Four five."),
        ("One two three four five six seven.", "One two three four five"),
        ("一二三四五六。七八九十。", "一二三四五六。"),
    ],
)
def test_summaries_keep_to_their_words(said: str, kept: str) -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"summary": said}), summary_words=5)
    assert tasks.summarize([[unit("a")]]) == [kept]


def by_number(data: dict[str, Any]) -> dict[str, Any]:
    return {name: int(text["text"].split()[1]) for name, text in data["texts"].items()}


@pytest.mark.parametrize("context", [1500, 8192])
def test_every_hit_is_judged_by_its_own_number(context: int) -> None:
    engine = ScriptedEngine(by_number, context=context)
    hits = [hit(f"text {i * 7 % 11} {'filler ' * 20}", id_=str(i)) for i in range(47)]
    assert PromptedTasks(engine, max_tokens=500).rerank("which?", hits) == [(i * 7 % 11) / 10 for i in range(47)]
    engine.reply = lambda data: {name: value > 5 for name, value in by_number(data).items()}
    assert PromptedTasks(engine, max_tokens=500).select("which?", hits) == [i * 7 % 11 > 5 for i in range(47)]
    sizes = [len(data_of(request.turns)["texts"]) for batch in engine.batches for request in batch]
    assert max(sizes) <= prompts.MOST_JUDGED
    assert sum(sizes) == 94


def test_a_judgement_that_leaves_a_hit_out_is_no_reply() -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"text_1": 3}))
    with pytest.raises(ReplyError, match="text_2"):
        tasks.rerank("which?", [hit("one"), hit("two")])


@pytest.mark.parametrize(("said", "better"), [("", ""), ("Who is she?", ""), ("Who is Kim?", "Who is Kim?")])
def test_a_better_question_or_none(said: str, better: str) -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"question": said}))
    assert tasks.refine("Who is she?", [hit("Kim came.")]) == better
    assert tasks.refine("Who is she?", []) == ""


def test_an_answer_names_its_evidence_and_its_cost() -> None:
    hits = [hit("Nothing here.", 2.0, "a"), hit("Kim moved to Oslo yesterday.", 1.0, "b")]
    engine = ScriptedEngine(lambda _: {"known": True, "evidence": [2, 2], "answer": "Oslo"})
    answer = PromptedTasks(engine).answer("Where is Kim?", hits, support=1.0)
    assert (answer.text, answer.abstained, answer.confidence) == ("Oslo", False, 0.5)
    assert [(e.hit.unit.id, e.text, e.start, e.score) for e in answer.evidence] == [("b", hits[1].text, 0, 0.5)]
    assert answer.usage.llm_calls == 1
    assert answer.usage.tokens > 100
    assert "read by scripted" in answer.trace
    ((request,),) = engine.batches
    texts = data_of(request.turns)["texts"]
    assert texts["2"] == {"by": "Ludger", "said": "14 May 2026", "text": "Kim moved to Oslo yesterday [13 May 2026]."}


def test_it_does_not_know() -> None:
    engine = ScriptedEngine(lambda _: {"known": False, "evidence": [], "answer": ""})
    tasks = PromptedTasks(engine)
    for question, said in (("Where?", "I don't know"), ("在哪里？", "我不知道")):
        answer = tasks.answer(question, [hit("Hello.")], support=1.0)
        assert answer.abstained
        assert answer.text.startswith(said)
        assert answer.usage.llm_calls == 1
    assert tasks.answer("Where?", [], support=1.0).abstained
    assert len(engine.batches) == 2, "without hits there is nothing to ask"


@pytest.mark.parametrize(
    "said",
    [
        {"known": True, "evidence": [], "answer": "Oslo"},
        {"known": True, "evidence": [1], "answer": " "},
        {"known": True, "evidence": [2], "answer": "Oslo"},
        {"known": True, "evidence": [0], "answer": "Oslo"},
    ],
)
def test_an_answer_that_rests_on_nothing_is_none(said: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match=r"answer without text or evidence|evidence\.0"):
        PromptedTasks(ScriptedEngine(lambda _: said)).answer("Where?", [hit("Hello.")], support=1.0)


def test_hits_that_do_not_fit_are_left_out_from_below_and_the_trace_says_so() -> None:
    hits = [hit(f"text {i} {'filler ' * 60}", score, str(i)) for i, score in enumerate((1.0, 9.0, 5.0, 7.0))]
    engine = ScriptedEngine(lambda _: {"known": True, "evidence": [1], "answer": "yes"}, context=1700)
    answer = PromptedTasks(engine).answer("Which?", hits, support=1.0)
    ((request,),) = engine.batches
    read = [text["text"].split()[1] for text in data_of(request.turns)["texts"].values()]
    assert read == ["1", "3"]
    assert answer.evidence[0].hit.unit.id == "1"
    assert "the 2 lowest hits did not fit the context" in answer.trace
    with pytest.raises(EngineRefusedError, match="does not fit"):
        PromptedTasks(engine).answer("Which?", [hit("word " * 2000)], support=1.0)


def test_errors_of_the_engine_keep_their_type() -> None:
    for error in (EngineRefusedError("no"), EngineUnavailableError("away")):
        tasks = PromptedTasks(ScriptedEngine(lambda _, error=error: error))
        with pytest.raises(EngineError) as caught:
            tasks.summarize([[unit("a")], [unit("b")]])
        assert type(caught.value) is type(error)


def test_statements_are_records_of_their_message() -> None:
    found, _ = reading("I live in Oslo.", extraction(statement("I", "lives_in", "Oslo")))
    assert found.statements == (Statement("Ludger", "lives_in", "Oslo", confidence=0.9, start=0, end=15),)
    assert SAID.tzinfo is UTC


def test_disputes_are_decided_or_left_open() -> None:
    engine = ScriptedEngine(lambda data: {"right": 2 if "Kyoto" in str(data["sides"].get("2")) else 0})
    told = {"Ann": "Oslo", "Carl": "Kyoto", "Eve": "Rome"}
    oslo, kyoto, rome = ([unit(f"Bob lives in {place}.", name=who)] for who, place in told.items())
    tasks = PromptedTasks(engine)
    assert isinstance(tasks, CuratorTasks)
    assert tasks.adjudicate([[oslo, kyoto], [kyoto, rome], [oslo, kyoto, rome]]) == [1, None, 1]
    first, second = engine.batches
    assert [len(first), len(second)] == [2, 1], "those of one size are one batch"
    assert data_of(first[0].turns) == {
        "sides": {
            "1": [{"by": "Ann", "said": "14 May 2026", "text": "Bob lives in Oslo."}],
            "2": [{"by": "Carl", "said": "14 May 2026", "text": "Bob lives in Kyoto."}],
        }
    }
    assert tasks.adjudicate([]) == []
    assert EmbeddedTasks().adjudicate([[oslo, kyoto]]) == [None]
    bounds = schema_of(prompts.verdict_form(3))["properties"]["right"]
    assert (bounds["minimum"], bounds["maximum"]) == (0, 3)


@pytest.mark.parametrize("right", [3, -1, "1", None, 1.0])
def test_a_verdict_for_no_side_is_none(right: Any) -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"right": right}))
    with pytest.raises(ReplyError):
        tasks.adjudicate([[[unit("Bob lives in Oslo.")], [unit("Bob lives in Kyoto.")]]])
    assert tasks.tally["failed"] == 1
