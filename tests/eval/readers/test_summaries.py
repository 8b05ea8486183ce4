"""Readers reply with summaries where a sample asks for them, and with short answers again after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from eval.caches.cached_time import KeptTime
from eval.caches.extraction_cache import ExtractionCache
from eval.harness.contract import Passage, Question, Reply, Sample
from eval.readers.embedded_reader import EmbeddedReader
from eval.readers.prompted_reader import PromptedReader
from eval.readers.query_summary import query_summary
from eval.run import Options, run
from eval.systems.catalogue import make_system
from nscma_torch import Message
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.llm.scripted import ScriptedEngine, answering

NOW = datetime(2026, 5, 14, 10, tzinfo=UTC)
TEXTS = (
    "The remote control will have a rubber case. Lunch was late again today.",
    "Somebody parked across two places this morning. The remote control needs one big button.",
    "Lunch will be soup tomorrow.",
)


def passages(texts: Sequence[str] = TEXTS) -> list[Passage]:
    return [Passage(place, Message("user", text, NOW), text) for place, text in enumerate(texts)]


def test_sentences_that_are_like_the_question_are_told_in_their_order() -> None:
    question = "What will the remote control have?"
    told, members = query_summary(question, TEXTS, 16, HashEmbedder())
    assert told == "The remote control will have a rubber case.\nThe remote control needs one big button."
    assert members == [0, 1]
    lunch = query_summary("What about lunch tomorrow?", TEXTS, 6, HashEmbedder())
    assert lunch == ("Lunch will be soup tomorrow.", [2])


def test_a_summary_is_no_longer_than_it_may_be() -> None:
    for words in (1, 3, 8, 20, 200):
        told, members = query_summary("What will the remote control have?", TEXTS, words, HashEmbedder())
        assert 0 < len(told.split()) <= words
        assert len(told.splitlines()) == len(members)
    assert query_summary("What will the remote control have?", TEXTS, 3, HashEmbedder()) == ("The remote control", [0])


def test_the_embedded_reader_summarises_until_the_sample_ends() -> None:
    reader = EmbeddedReader(
        {"device": "cpu", "embedder": {"model": "hash"}}, HashEmbedder(), KeptTime(), ExtractionCache()
    )
    said = passages(["Mary travelled to the garden.", "Bob has a boat.", "Mary was in the garden for long."])
    reader.begin(30)
    reply = reader.answer("Tell what Mary did in the garden.", said[::-1], options=(), now=NOW)
    assert reply.text.splitlines()[:1] == ["Mary travelled to the garden."]
    assert "Mary was in the garden for long." in reply.text
    assert reply.evidence == tuple(dict.fromkeys(reply.evidence or ()))
    assert {0, 2} <= set(reply.evidence or ())
    assert not reply.abstained and reply.cost.seconds["read"] > 0
    assert reader.answer("Where is Mary?", said, options=("a boat", "the garden"), now=NOW).text == "the garden"
    assert reader.answer("Tell about Mary.", [], options=(), now=NOW).abstained
    reader.forget()
    assert "garden" in reader.answer("Where is Mary?", said[:1], options=(), now=NOW).text
    assert reader.answer("Who composed the opera?", said[:1], options=(), now=NOW).abstained, "no summary any more"
    reader.forget()


def test_the_prompted_reader_asks_for_a_summary_until_the_sample_ends() -> None:
    engine = ScriptedEngine(lambda data: answering("x")(data) if "asked" in data else SUMMARY)
    reader = PromptedReader(engine, max_tokens=200)

    def asked() -> str:
        reader.answer("What of the remote control?", passages(), options=(), now=NOW)
        return engine.batches[-1][0].turns[0].content

    short = asked()
    reader.begin(70)
    assert "a summary in at most 70 words" in asked()
    reader.begin(900)
    assert "at most 120 words" in asked(), "more does not fit a reply of 200 tokens"
    reader.begin(0)
    assert asked() == short
    reader.begin(70)
    reader.forget()
    assert asked() == short


SUMMARY = {"known": True, "evidence": [1], "answer": "x"}


class Meetings:
    """Two samples with the same messages: one asks for a summary, the next for a short answer."""

    name = "meetings"
    metrics: tuple[str, ...] = ("lines",)

    def ids(self) -> Sequence[str]:
        return ["summary", "answer"]

    def sample(self, id: str) -> Sample:
        question = Question("q", "What will the remote control have?", ("a rubber case",))
        said = [Message("user", text, NOW) for text in TEXTS]
        return Sample(id, said, [question], NOW, summary_words=16 if id == "summary" else 0)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:  # noqa: ARG002
        return {"lines": float(len(reply.text.splitlines()))}


def test_a_run_tells_the_reader_what_a_sample_asks_for(tmp_path: Path) -> None:
    options = Options(tmp_path / "run.toml", data=tmp_path, out=tmp_path / "out")
    options.config.write_text(
        'memory = { device = "cpu", embedder = { model = "hash" } }\n'
        'tasks = [{ kind = "meetings", name = "meetings" }]\n'
        'systems = [{ kind = "full-context", name = "full context" }]\n',
        encoding="utf-8",
    )

    def made(section: Mapping[str, Any], data: Path) -> Meetings:
        assert section["kind"] == "meetings" and data == tmp_path
        return Meetings()

    assert run(options, made, make_system, Console(quiet=True)) == 0
    lines = map(json.loads, (options.out / "results.jsonl").read_text(encoding="utf-8").splitlines())
    replies = {line["sample"]: line["questions"][0]["reply"] for line in lines}
    told = query_summary("What will the remote control have?", TEXTS, 16, HashEmbedder())[0]
    assert replies["summary"] == told
    assert replies["answer"] != told
