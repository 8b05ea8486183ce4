"""CAM as its paper has it, over a real vLLM: its model writes the summaries, chooses among them, and reads them.

What a model that knows nothing makes of them says nothing; that they go all the way is what is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.harness.fakes import IndifferentSurpriseModel
from eval.systems.partial_tasks import WithoutFacts
from nscma_torch import Memory, Message, load_config
from nscma_torch.core.errors import EngineError, ReplyError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import data_of

pytestmark = pytest.mark.vllm

TEXTS = [
    f"The {what} of the {topic} was {how} in year {year}."
    for topic, whats in (("harbour", ("pier", "crane")), ("garden", ("pond", "hedge")), ("court", ("judge", "clerk")))
    for what in whats
    for year, how in ((1, "old"), (2, "new"))
]
QUESTIONS = [f"What became of the {topic}?" for topic in ("harbour", "garden", "court")]


class HeardEngine(WrappedEngine):
    """Keeps what it is asked."""

    def __init__(self, engine: LanguageEngine) -> None:
        super().__init__(engine)
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        self.requests += requests
        return super().generate(requests)

    def judged(self) -> list[str]:
        """The lines that were judged on their own."""
        asked = [request.turns for request in self.requests if request.turns[-1].content.startswith("Messages:")]
        shown = [data_of(turns)["messages"] for turns in asked]
        return [lines[0] for lines in shown if len(lines) == 1]

    def read(self) -> list[str]:
        """The lines of the prompts that ask for an answer."""
        asked = [request.turns for request in self.requests if request.turns[-1].content.startswith("Messages:")]
        return [line for turns in asked for line in data_of(turns)["messages"]]


def test_summaries_by_the_model_are_judged_and_read_by_it(http: LanguageEngine, tmp_path: Path) -> None:
    engine = HeardEngine(http)
    tasks = WithoutFacts(PromptedTasks(engine, max_tokens=2048))

    def opened(**retrieval: Any) -> Memory:
        paper = load_config("papers/cam").model_dump()
        sections = {"device": "cpu", "embedder": {"model": "hash"}, "retrieval": {**paper["retrieval"], **retrieval}}
        config = load_config({**paper, **sections})
        return Memory(tmp_path / "store.db", config=config, tasks=tasks, surprise_model=IndifferentSurpriseModel())

    with opened() as memory:
        memory.add([Message("document", text, source=f"d{i}") for i, text in enumerate(TEXTS)], user_id="ana")
        memory.flush()
        assert memory.stats().failures == ()
        found = memory.search("harbour", user_id="ana", kinds=["summary"], strategy="single-step", top_k=50)
        summaries = {hit.text for hit in found}
        assert len(summaries) >= 2 and all(text and text not in TEXTS for text in summaries)
        for question in QUESTIONS:
            ask(memory, question)
        plain = [" ".join(text.split()) for text in summaries]
        assert any(line.endswith(f": {text}") for line in engine.judged() for text in plain)
        engine.requests.clear()
    with opened(strategy="global", kinds=["summary"]) as memory:  # whatever the model has chosen, which may be nothing
        ask(memory, QUESTIONS[0])
        assert any(line.endswith(f": {text}") for line in engine.read() for text in plain)


def ask(memory: Memory, question: str) -> None:
    """An answer names what it rests on, or is an abstention, or a form that could not be used."""
    try:
        answer = memory.ask(question, user_id="ana")
    except ReplyError as error:
        assert "Form" in str(error)
    else:
        assert answer.abstained or answer.evidence
