"""Prompted tasks that read what was found: summaries, rankings, better questions, answers, disputes."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from nscma_torch.core.errors import EngineError, EngineRefusedError, EngineUnavailableError, NoLogprobsError, ReplyError
from nscma_torch.core.protocols import CuratorTasks
from nscma_torch.core.records import AskedQuestion
from nscma_torch.llm.choice_probability import UNMEASURED
from nscma_torch.llm.engines.contract import Reply, Request, Token
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.llm.prompted_answers import pooled, supporting
from nscma_torch.llm.prompts import tasks as prompts
from nscma_torch.llm.prompts.answering import rule
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.llm.scripted import SAID, ScriptedEngine, answering, data_of, hit, unit


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
    with pytest.raises(EngineRefusedError, match="tokens is too long"):
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
        ("One two. ONE TWO. Three. One two.", "One two. Three."),
        ("One two. Three fo", "One two."),
        ("One two thr", "One two thr"),
    ],
)
def test_summaries_keep_to_their_words(said: str, kept: str) -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"summary": said}), summary_words=5)
    assert tasks.summarize([[unit("a")]]) == [kept]


def test_a_summary_is_bounded_by_its_words() -> None:
    longest = [schema_of(prompts.summary_form(words))["properties"]["summary"]["maxLength"] for words in (50, 2000)]
    assert longest == [400, 1900]


@pytest.mark.parametrize("context", [1500, 8192])
def test_each_hit_is_judged_by_its_own_text(context: int) -> None:
    engine = ScriptedEngine(lambda data: {"contain_answer": "Kim" in data["messages"][0]}, context=context)
    hits = [hit(f"{name} {'filler ' * 400}", id_=name) for name in ("Bo", "Kim", "Ann")]
    tasks = PromptedTasks(engine, max_tokens=500)
    assert tasks.rerank("which?", hits) == [1 - UNMEASURED, UNMEASURED, 1 - UNMEASURED]
    assert tasks.select("which?", hits) == [False, True, False]
    assert all(len(data_of(request.turns)["messages"]) == 1 for batch in engine.batches for request in batch)


@pytest.mark.parametrize(
    ("known", "said", "better"),
    [(False, "", ""), (False, "Who is she?", ""), (False, "Who is Kim?", "Who is Kim?"), (True, "Who is Kim?", "")],
)
def test_a_better_question_if_the_hits_lack_the_answer(known: bool, said: str, better: str) -> None:
    tasks = PromptedTasks(
        ScriptedEngine(lambda data: {"contain_answer": known} if "messages" in data else {"question": said})
    )
    assert tasks.refine("Who is she?", [hit("Kim came.")]) == better
    assert tasks.refine("Who is she?", []) == ""


def test_an_answer_names_its_evidence_and_its_cost() -> None:
    hits = [hit("Nothing here.", 2.0, "a"), hit("Kim moved to Oslo yesterday.", 1.0, "b")]
    engine = ScriptedEngine(answering("Oslo"))
    answer = PromptedTasks(engine).answer(AskedQuestion("Where is Kim?", 1.0, asker="Eva", now=SAID), hits)
    assert (answer.text, answer.abstained) == ("Oslo", False)
    assert answer.confidence == pytest.approx(pooled(UNMEASURED, 0.5))
    assert [(e.hit.unit.id, e.text, e.start, e.score) for e in answer.evidence] == [("b", hits[1].text, 0, 0.5)]
    assert answer.usage.llm_calls == 2
    assert answer.usage.tokens > 100
    assert "read by scripted" in answer.trace
    first, second = (data_of(batch[0].turns) for batch in engine.batches)
    assert first["messages"][1] == "14 May 2026, Ludger: Kim moved to Oslo yesterday [13 May 2026]."
    assert first["asked"] == "Today is 14 May 2026. Eva asks: Where is Kim?"
    assert {**second, "task": ""} == {**first, "task": ""}, "the messages are a prefix that an engine can cache"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where does Kim live?", "a few words"),
        ("Does Kim live in Oslo?", '"yes" or "no"'),
        ("After the flood, did Kim move?", '"yes" or "no"'),
        ("On which day does Kim move?", "date of the event"),
        ("How many cats does Kim have?", "the number"),
        ("How much was the car?", "the amount"),
        ("Which towns did Kim see?", "Name them all"),
        ("What did the car cost when I bought it?", "a few words"),
        ("Do I prefer tea or coffee?", "a few words"),
        ("Could you remind me when I moved?", "date of the event"),
        ("Do you know if Kim moved?", '"yes" or "no"'),
        ("Has Ana moved? Where does she live now?", "a few words"),
        ("Which city did I visit with Dr. Will Hayes?", "a few words"),
        ("When I was in Porto, which hotel did I stay in?", "a few words"),
        ("Which bus do I take?", "a few words"),
        ("What time is my appointment?", "time of day"),
        ("我什么时候搬家的?", "language of the question"),
    ],
)
def test_the_question_decides_the_form_of_the_answer(question: str, said: str) -> None:
    assert said in rule(question)


def test_an_overview_is_a_text() -> None:
    def reply(data: dict[str, Any]) -> dict[str, Any]:
        return {"contain_answer": True} if "contain" in data["task"] else {"text": "A life."}

    engine = ScriptedEngine(reply)
    assert PromptedTasks(engine).answer(AskedQuestion("Summarise my year.", 1.0), [hit("I moved.")]).text == "A life."


def test_it_does_not_know() -> None:
    engine = ScriptedEngine(answering("", known=False))
    tasks = PromptedTasks(engine)
    for question, said in (("Where?", "I don't know"), ("在哪里？", "我不知道")):
        answer = tasks.answer(AskedQuestion(question, 1.0), [hit("Hello.")])
        assert answer.abstained
        assert answer.text.startswith(said)
        assert answer.usage.llm_calls == 1
    assert tasks.answer(AskedQuestion("Where?", 1.0), []).abstained
    assert len(engine.batches) == 2, "without hits there is nothing to ask"
    silent = PromptedTasks(ScriptedEngine(answering(" "))).answer(AskedQuestion("Where?", 1.0), [hit("Hello.")])
    assert silent.abstained, "an empty answer is none"


@pytest.mark.parametrize(("chosen", "share", "known"), [("true", 0.6, 0.6), ("false", 0.6, 0.4), ("false", 0.3, 0.5)])
def test_the_probability_decides(chosen: str, share: float, known: float) -> None:
    class Unsure(ScriptedEngine):
        def _one(self, request: Request) -> Reply | EngineError:
            reply = super()._one(request)
            assert isinstance(reply, Reply)
            pieces = re.findall(r"true|false|.", reply.text)
            tokens = (Token(piece, math.log(share) if piece == chosen else 0.0) for piece in pieces)
            return replace(reply, tokens=tuple(tokens))

    engine = Unsure(answering("Oslo", known=chosen == "true"))
    tasks, hits = PromptedTasks(engine, least_known=0.6), [hit("Kim is in Oslo.")]
    answer = tasks.answer(AskedQuestion("Where is Kim?", 1.0), hits)
    assert answer.confidence == pytest.approx(pooled(known, 0.5)) and answer.abstained == (known < 0.6)
    sure = tasks.answer(AskedQuestion("Where is Kim?", 1.0, prior=0.95), hits)
    assert sure.confidence > answer.confidence and not sure.abstained, "the reader's probability counts"


def test_a_server_without_log_probabilities_is_asked_without_them() -> None:
    class Bare(ScriptedEngine):
        def _one(self, request: Request) -> Reply | EngineError:
            return NoLogprobsError("none") if request.logprobs else super()._one(request)

    engine = Bare(answering("Oslo"))
    tasks = PromptedTasks(engine)
    answers = [tasks.answer(AskedQuestion(f"Where is {one}?", 1.0), [hit("Kim is in Oslo.")]) for one in ("Kim", "Bo")]
    assert [one.text for one in answers] == ["Oslo", "Oslo"]
    assert [len(batch) for batch in engine.batches] == [1, 1, 1, 1, 1], "with them once, and never again"
    doubted = tasks.answer(AskedQuestion("Where is Kim?", 1.0, prior=0.05), [hit("Kim is in Oslo.")])
    assert doubted.abstained and not answers[0].abstained, "the reader's probability still counts"
    denied = PromptedTasks(Bare(answering("Oslo", known=False)))
    assert denied.answer(AskedQuestion("Where is Kim?", 1.0), [hit("Kim is in Oslo.")]).abstained


def test_a_yes_rests_on_the_message_that_is_most_like_the_question() -> None:
    lines = ["Kim: yes, no, yes", "Kim: the boat is sold", "Kim: the car is red"]
    assert supporting("Is the boat sold?", "yes", lines) == [1]
    assert supporting("What was sold?", "the boat", [*lines, "Kim: a boat"]) == [1, 3]
    assert supporting("What was sold?", "a zeppelin", lines) == [1], "in other words: what is most like the question"


def test_hits_that_do_not_fit_are_left_out_from_below_and_the_trace_says_so() -> None:
    hits = [hit(f"text {i} {'filler ' * 60}", score, str(i)) for i, score in enumerate((1.0, 9.0, 5.0, 7.0))]
    engine = ScriptedEngine(answering("text 1"), context=1500)
    answer = PromptedTasks(engine).answer(AskedQuestion("Which?", 1.0), hits)
    read = [text.split()[5] for text in data_of(engine.batches[0][0].turns)["messages"]]
    assert read == ["1", "3"]
    assert answer.evidence[0].hit.unit.id == "1"
    assert "the 2 lowest hits did not fit the context" in answer.trace
    with pytest.raises(EngineRefusedError, match="tokens is too long"):
        PromptedTasks(engine).answer(AskedQuestion("Which?", 1.0), [hit("word " * 2000)])


def test_errors_of_the_engine_keep_their_type() -> None:
    for error in (EngineRefusedError("no"), EngineUnavailableError("away")):
        tasks = PromptedTasks(ScriptedEngine(lambda _, error=error: error))
        with pytest.raises(EngineError) as caught:
            tasks.summarize([[unit("a")], [unit("b")]])
        assert type(caught.value) is type(error)


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
