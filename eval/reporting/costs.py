"""What a system's work took: the columns that stand beside every score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.reporting.results import Line, Spent
from eval.reporting.tables import Cell, Several, Shown


@dataclass(frozen=True)
class Expense:
    """Means: of calls, tokens and reading over samples, of asking over questions; failed samples are left out."""

    calls: float
    tokens_in: float
    tokens_out: float
    read: Mapping[str, float]
    ask: Mapping[str, float]
    store: float

    @property
    def read_seconds(self) -> float:
        """Of one sample, all stages."""
        return sum(self.read.values())

    @property
    def ask_seconds(self) -> float:
        """Of one question, all stages."""
        return sum(self.ask.values())


def expense(lines: Sequence[Line]) -> Expense | None:
    """Of the samples that did not fail; None where all did."""
    whole = [line for line in lines if line.error is None]
    if not whole:
        return None
    questions = [asked.cost for line in whole for asked in line.questions]
    samples = len(whole)
    spent = [*(line.read for line in whole), *questions]

    def each(count: Callable[[Spent], int]) -> float:
        return sum(map(count, spent)) / samples

    return Expense(
        each(lambda cost: cost.llm_calls),
        each(lambda cost: cost.tokens_in),
        each(lambda cost: cost.tokens_out),
        _stages([line.read for line in whole], samples),
        _stages(questions, len(questions)),
        sum(line.store_bytes for line in whole) / samples,
    )


def read_per_message(lines: Sequence[Line]) -> float | None:
    """Seconds, all stages, a mean over the messages of the samples that did not fail; None where there are none."""
    whole = [line for line in lines if line.error is None]
    messages = sum(line.messages for line in whole)
    return sum(sum(line.read.seconds.values()) for line in whole) / messages if messages else None


def ask_percentiles(lines: Sequence[Line]) -> tuple[float, float] | None:
    """Seconds of a question, all stages, p50 and p95 of the samples that did not fail; None where there are none."""
    asked = [sum(own.cost.seconds.values()) for line in lines if line.error is None for own in line.questions]
    if not asked:
        return None
    half, most = np.quantile(asked, [0.5, 0.95])
    return float(half), float(most)


def columns(lines: Sequence[Line]) -> dict[str, Cell]:
    """Cells of a row."""
    found = expense(lines)
    if found is None:
        return dict.fromkeys(("LLM calls", "tokens in", "tokens out", "read s", "ask s", "store MB"))
    return {
        "LLM calls": Shown(found.calls, f"{found.calls:,.1f}"),
        "tokens in": Shown(found.tokens_in, f"{found.tokens_in:,.0f}"),
        "tokens out": Shown(found.tokens_out, f"{found.tokens_out:,.0f}"),
        "read s": Shown(found.read_seconds, _by_stage(found.read_seconds, found.read)),
        "ask s": Shown(found.ask_seconds, _by_stage(found.ask_seconds, found.ask)),
        "store MB": Shown(found.store / 1e6, f"{found.store / 1e6:,.3f}"),
    }


def seconds(lines: Sequence[Line]) -> Cell:
    """To read and to ask in one cell, for tables of many scores."""
    found = expense(lines)
    if found is None:
        return Several({}, "–")
    told = {"to read": found.read_seconds, "to ask": found.ask_seconds}
    return Several(told, " / ".join(map(_brief, told.values())))


SECONDS = (
    "Seconds are to read a sample / to ask a question, means over the samples and questions that the scores are of."
)
NOTE = (
    "LLM calls, tokens, and seconds to read are means of a sample (its questions' calls and tokens included), seconds "
    "to ask of a question, the store's size of a sample; samples that failed are not in them. Seconds are wall-clock; "
    "the stage “cached” is work that was kept from before, at what it took then, less what finding and keeping it "
    "took: below 0 where that was more."
)


def _stages(costs: Sequence[Spent], over: int) -> dict[str, float]:
    stages: dict[str, float] = {}
    for cost in costs:
        for stage, seconds in cost.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    return {stage: seconds / over for stage, seconds in sorted(stages.items())} if over else {}


def _brief(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3f}"


def _by_stage(total: float, stages: Mapping[str, float]) -> str:
    if len(stages) < 2:
        return f"{total:.3f}"
    return f"{total:.3f} ({', '.join(f'{stage} {seconds:.3f}' for stage, seconds in stages.items())})"
