"""The judge over a real vLLM: every verdict is one of the three. A model that knows nothing agrees with nobody."""

from __future__ import annotations

import pytest

from eval.judging import agreement
from eval.judging.verdicts import Judgement, judge
from nscma_torch.llm.engines.contract import LanguageEngine

pytestmark = pytest.mark.vllm


def test_verdicts_are_valid(engine: LanguageEngine) -> None:
    items = agreement.items()
    outcomes = judge(engine, [item.case for item in items])
    verdicts = [one.verdict for one in outcomes if isinstance(one, Judgement)]
    assert len(verdicts) == len(items), [one for one in outcomes if not isinstance(one, Judgement)][:1]
    assert set(verdicts) <= {"right", "wrong", "abstained_correctly"}
    asked = [one for one, item in zip(outcomes, items, strict=True) if item.reply]
    assert all(isinstance(one, Judgement) and one.tokens_in > 0 and one.tokens_out > 0 for one in asked)
