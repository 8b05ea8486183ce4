"""Tables and a plot of raw lines: a row for each system, a column for each number of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from eval.experiments.model.cascade import rates
from eval.experiments.model.curve_samples import UNANSWERABLE
from eval.reporting import bootstrap
from eval.reporting.bootstrap import Interval
from eval.reporting.figures import Line, Panel, curves

_SEED = 1  # of bootstrap draws


@dataclass(frozen=True, slots=True)
class CurveLine:
    """The answer of one system to one question from at most so many tokens.

    Attributes:
        source: "dialogues" or "LoCoMo".
        type: of the question.
        tokens, used: tokens that the context may take, and those it takes.
        memories: number of memories in the context; `context`: a digest of it.
        known: probability that the context contains the answer.
        verdict: of the answer, given whatever the probability.
        f1: LoCoMo's; None for a dialogue, or without a right answer.
        calls, spent, seconds: requests, tokens in and out, and time of the answer; those of an equal context's if it is
            `reused`.
        error: why a reply could not be used; the answer is then "".
    """

    model: str
    source: str
    conversation: str
    type: str
    question: str
    gold: str
    system: str
    tokens: int
    used: int
    memories: int
    context: str
    answer: str
    known: float
    verdict: str
    f1: float | None
    calls: int
    spent: int
    seconds: float
    reused: bool
    error: str

    @property
    def asked(self) -> tuple[str, str, str]:
        """The question."""
        return self.source, self.conversation, self.question

    def verdict_at(self, least_known: float) -> str:
        """The verdict if an answer that is less probable to be in the context is not given."""
        if self.known >= least_known:
            return self.verdict
        return "abstained" if self.type == UNANSWERABLE else "silent"


@dataclass(frozen=True)
class Curve:
    """The lines of one source, by system and tokens, each with the same questions in the same order."""

    source: str
    lines: Mapping[tuple[str, int], Sequence[CurveLine]]
    left_out: int

    @property
    def systems(self) -> list[str]:
        """In the order of the lines."""
        return list(dict.fromkeys(system for system, _ in self.lines))

    @property
    def tokens(self) -> list[int]:
        """Ascending."""
        return sorted({tokens for _, tokens in self.lines})

    @property
    def questions(self) -> int:
        """Number of questions."""
        return len(next(iter(self.lines.values()), ()))


def curves_of(lines: Sequence[CurveLine]) -> list[Curve]:
    """For each source, the questions that every system was asked at every number of tokens."""
    found = []
    for source in dict.fromkeys(line.source for line in lines):
        own = [line for line in lines if line.source == source]
        pairs = dict.fromkeys((line.system, line.tokens) for line in own)
        times = Counter(line.asked for line in own)
        whole = {asked for asked, count in times.items() if count == len(pairs)}
        by_pair = {
            pair: sorted(
                (line for line in own if (line.system, line.tokens) == pair and line.asked in whole),
                key=lambda line: line.asked,
            )
            for pair in pairs
        }
        found.append(Curve(source, by_pair, len(times) - len(whole)))
    return found


def score_table(curve: Curve, least_known: float) -> Table:
    """Right short answers, and below them stale, silent and invented ones, and F1; see `cascade.rates`."""
    when = f"abstains below {least_known}" if least_known else "never abstains"
    left_out = f", {curve.left_out} others not asked of all" if curve.left_out else ""
    printed = _table(f"{curve.source}: short and right, {curve.questions} questions{left_out}; {when}", curve)
    for system in curve.systems:
        printed.add_row(system, *(_scores(curve.lines[system, tokens], least_known) for tokens in curve.tokens))
        printed.add_section()
    return printed


def difference_table(curve: Curve, reference: str, least_known: float) -> Table:
    """Short and right, the reference less the rival that is best at these tokens.

    The best rival is chosen by the same questions, so the difference tends to be too small.
    """
    printed = _table(f"{curve.source}: short and right, {reference} less the best rival", curve)
    rivals = [system for system in curve.systems if system != reference]
    cells = []
    for tokens in curve.tokens:
        shares = {system: _short(curve.lines[system, tokens], least_known) for system in curve.systems}
        means = {system: _mean([score for own in shares[system].values() for score in own]) for system in rivals}
        best = max(means, key=lambda system: means[system])
        cells.append(f"{difference(shares[reference], shares[best])}\n{best}")
    printed.add_row("abstains" if least_known else "never abstains", *cells)
    return printed


def difference(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> Interval:
    """The paired difference of scores by conversation."""
    return bootstrap.difference([bootstrap.stratum(first)], [bootstrap.stratum(second)], _SEED)


def cost_table(curve: Curve) -> Table:
    """Tokens of the context, requests and seconds of an answer, as means; and the answers that were reused."""
    printed = _table(f"{curve.source}: tokens of context; calls, seconds of an answer; reused", curve)
    for system in curve.systems:
        printed.add_row(system, *(_costs(curve.lines[system, tokens]) for tokens in curve.tokens))
    return printed


def plot(found: Sequence[Curve], least_known: float, path: Path) -> None:
    """Short and right against the mean tokens of context, with intervals."""
    curves([_panel(curve, least_known) for curve in found], "accuracy against tokens of context", path)


def _panel(curve: Curve, least_known: float) -> Panel:
    drawn = {}
    for system in curve.systems:
        own = [curve.lines[system, tokens] for tokens in curve.tokens]
        shares = [bootstrap.mean([bootstrap.stratum(_short(lines, least_known))], _SEED) for lines in own]
        drawn[system] = Line([float(np.mean([line.used for line in lines])) for lines in own], shares)
    title = f"{curve.source}, {curve.questions} questions"
    return Panel(title, "tokens of context", "short and right", drawn, log_x=True, share=True)


def _table(title: str, curve: Curve) -> Table:
    printed = Table(title=title, title_justify="left")
    printed.add_column("")
    for tokens in curve.tokens:
        printed.add_column(f"{tokens:,}", justify="right")
    return printed


def _scores(lines: Sequence[CurveLine], least_known: float) -> str:
    found = rates([line.verdict_at(least_known) for line in lines], [line.type for line in lines])
    told = []
    if "short" in found:
        share, _, low, high = found["short"]
        told.append(f"{share:.3f} [{low:.3f}, {high:.3f}]")
    told.append(", ".join(f"{name} {found[name][0]:.2f}" for name in ("stale", "silent", "invented") if name in found))
    f1 = [0.0 if line.known < least_known else line.f1 for line in lines if line.f1 is not None]
    return "\n".join([*told, *([f"F1 {np.mean(f1):.3f}"] if f1 else [])])


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0


def _short(lines: Sequence[CurveLine], least_known: float) -> dict[str, list[float]]:
    """By conversation, whether each question that has an answer got it."""
    found: dict[str, list[float]] = {}
    for line in lines:
        if line.type != UNANSWERABLE:
            found.setdefault(line.conversation, []).append(float(line.verdict_at(least_known) == "short"))
    return found


def _costs(lines: Sequence[CurveLine]) -> str:
    used, calls, seconds, reused = (
        float(np.mean([getattr(line, name) for line in lines])) for name in ("used", "calls", "seconds", "reused")
    )
    failed = sum(bool(line.error) for line in lines)
    return f"{used:.0f}; {calls:.1f}, {seconds:.1f} s; {reused:.2f}" + (
        f"; {failed} unusable replies" if failed else ""
    )
