"""Every prompted task through its schema and back, over a real vLLM whose model knows nothing."""

from __future__ import annotations

import pytest

from nscma_torch.core.errors import ReplyError
from nscma_torch.core.records import Answer, AskedQuestion
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import hit, unit

pytestmark = pytest.mark.vllm

HITS = [hit(text) for text in ("I moved to Lisbon in March.", "The cat is called Miso.", "Ana works at the harbour.")]


@pytest.fixture
def tasks(engine: LanguageEngine) -> PromptedTasks:
    return PromptedTasks(engine, max_tokens=2048)


def test_summarize(tasks: PromptedTasks) -> None:
    summaries = tasks.summarize([[unit("I moved to Lisbon."), unit("I like it.")], [unit("The cat is called Miso.")]])
    assert len(summaries) == 2 and all(summaries)


def test_rerank(tasks: PromptedTasks) -> None:
    scores = tasks.rerank("Where does Ana work?", HITS)
    assert len(scores) == 3 and all(0 <= score <= 1 for score in scores)


def test_select(tasks: PromptedTasks) -> None:
    chosen = tasks.select("Where does Ana work?", HITS)
    assert len(chosen) == 3 and all(isinstance(one, bool) for one in chosen)


def test_refine(tasks: PromptedTasks) -> None:
    assert len(tasks.refine("Where does she work?", HITS)) <= 300


def test_answer(tasks: PromptedTasks) -> None:
    """It knows and names what it rests on, or says that it does not; a form without either is an error."""
    outcomes: list[Answer | ReplyError] = []
    for question in ("Where does Ana work?", "What is the cat called?", "Where did I move?"):
        try:
            outcomes.append(tasks.answer(AskedQuestion(question, 1.0), HITS))
        except ReplyError as error:
            outcomes.append(error)
    answers = [one for one in outcomes if isinstance(one, Answer)]
    assert all(one.abstained or (one.text and one.evidence) for one in answers)
    assert all("cannot be used" in str(one) for one in outcomes if isinstance(one, ReplyError))
    assert tasks.tally["requests"] >= 3


def test_extract(tasks: PromptedTasks) -> None:
    """A model that writes at random states nothing that the text bears out, and all of it is counted."""
    try:
        (found,) = tasks.extract([unit("I moved to Lisbon in March.")], listeners=["Eva"])
    except ReplyError as error:
        assert "ExtractionForm" in str(error)  # it wrote on until its limit, twice
    else:
        assert found.statements == ()
