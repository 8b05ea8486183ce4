"""A language model's verdict on a reply, by a frozen prompt (`prompt.txt`).

What is right follows the instructions of LongMemEval's judge (Wu et al. 2024, arXiv:2410.10813; its evaluate_qa.py):
equivalent answers are right, parts are not, updates may tell the past, unanswerable questions want to be declined. The
words are our own, one prompt serves all question types, and its leniency on off-by-one numbers of days is left out.
Verdicts of another prompt, or of another model, are not comparable: both are kept with each of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine, Request, Turn
from nscma_torch.llm.engines.structured import Filled, ReplyForm, fill, schema_of
from nscma_torch.llm.prompts.quoting import quoted

Verdict = Literal["right", "wrong", "abstained_correctly"]
_PROMPT = Path(__file__).parent / "prompt.txt"
_MAX_TOKENS = 1024


class VerdictForm(ReplyForm):
    """What the judge writes; the reason comes first, so that the verdict can follow from it."""

    reason: str = Field(max_length=200)
    verdict: Verdict


@dataclass(frozen=True)
class Case:
    """What is judged. `expected` is empty where the answer cannot be known, `rubric` where the task has none."""

    question: str
    expected: tuple[str, ...]
    reply: str
    rubric: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it took."""

    verdict: Verdict
    reason: str
    tokens_in: int = 0
    tokens_out: int = 0


@cache
def prompt() -> str:
    """The system turn."""
    return _PROMPT.read_text(encoding="utf-8").strip()


@cache
def prompt_sha256() -> str:
    """Of the prompt and of the form of the reply."""
    schema = json.dumps(schema_of(VerdictForm), sort_keys=True)
    return hashlib.sha256(f"{prompt()}\0{schema}".encode()).hexdigest()


def by_rule(case: Case) -> Judgement | None:
    """The verdict on an empty reply, for which no model is asked; None for any other."""
    if case.reply.strip():
        return None
    return Judgement("wrong" if case.expected else "abstained_correctly", "the reply is empty")


def judge(engine: LanguageEngine, cases: Sequence[Case]) -> list[Judgement | EngineError]:
    """A judgement for each case, or why there is none."""
    ruled = [by_rule(case) for case in cases]
    asked = [case for case, judgement in zip(cases, ruled, strict=True) if judgement is None]
    outcomes, _ = fill(engine, VerdictForm, [_request(case) for case in asked])
    filled = iter(outcomes)
    return [_read(next(filled)) if judgement is None else judgement for judgement in ruled]


def _request(case: Case) -> Request:
    rubric = {"rubric": list(case.rubric)} if case.rubric else {}
    data = {"question": case.question, "expected": list(case.expected), **rubric, "reply": case.reply}
    return Request((Turn("system", prompt()), Turn("user", quoted(data))), max_tokens=_MAX_TOKENS)


def _read(outcome: Filled[VerdictForm] | EngineError) -> Judgement | EngineError:
    if isinstance(outcome, EngineError):
        return outcome
    form, reply = outcome.form, outcome.reply
    return Judgement(form.verdict, form.reason, reply.prompt_tokens, reply.completion_tokens)
