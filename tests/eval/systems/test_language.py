"""Prompts of systems within the engine's context."""

from __future__ import annotations

import json

import pytest

from eval.systems.language import Language
from nscma_torch.core.errors import EngineRefusedError
from nscma_torch.llm.engines.contract import Request
from tests.eval.systems.rig import Scripted, shared


class Small(Scripted):
    """An engine with little context."""

    context = 700


def test_a_summary_of_too_much_is_one_of_the_summaries_of_its_parts() -> None:
    told: list[int] = []

    def write(request: Request) -> str:
        told.append(len(json.loads(request.turns[-1].content.split("\n", 1)[1])["texts"]))
        return f"summary {len(told)}"

    engine = Small(write)
    language = Language(shared(engine=engine), engine)
    texts = [f"{'The kiln is hot. ' * 15}{number}" for number in range(8)]
    assert language.summaries([texts, texts[:1], []], "Summarize.", words=20) == [
        f"summary {len(told)}",
        "summary 3",
        "",
    ]
    assert told == [7, 1, 1, 2], "two parts, the other group, and the parts together"
    assert all(engine.count_tokens([request.turns])[0] + request.max_tokens <= 700 for request in engine.asked)
    with pytest.raises(EngineRefusedError, match=r"llm\.context"):
        language.summaries([["The kiln is hot. " * 70] * 2], "Summarize.", words=20)
