"""Choose the uncertainty threshold from labelled traces: minimise retrievals within a bound on wrong answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class LabelledTrace:
    """One turn: the draft's uncertainty, and the correctness of it and of the answer after retrieval."""

    uncertainty: float
    draft_right: bool
    retrieved_right: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """Effect of a threshold on labelled traces.

    Attributes:
        saved: share of turns without retrieval.
        wrong: share of turns whose draft is wrong although retrieval would have answered correctly.
        right: share of correct answers.
    """

    threshold: float
    saved: float
    wrong: float
    right: float


def labelled(controller: Controller, turns: Iterable[tuple[str, Callable[[str], bool]]]) -> list[LabelledTrace]:
    """Produce both answers to each turn, judged by the function given with it; stores nothing.

    The configured threshold has no effect.
    """
    traces = []
    for said, right in turns:
        draft = controller.consider(said, threshold=1.0)
        found = controller.consider(said, threshold=0.0)
        assert draft.draft_uncertainty is not None, "a threshold above 0 asks for a draft"
        traces.append(LabelledTrace(draft.draft_uncertainty, right(draft.text), right(found.text)))
    return traces


def at_threshold(traces: Sequence[LabelledTrace], threshold: float) -> Calibration:
    """Evaluate a threshold; raises InvalidInputError without traces."""
    if not traces:
        raise InvalidInputError("choosing a threshold needs at least one labelled trace")
    kept = [trace for trace in traces if threshold > 0 and trace.uncertainty <= threshold]
    wrong = sum(trace.retrieved_right and not trace.draft_right for trace in kept)
    right = sum(trace.draft_right for trace in kept)
    right += sum(trace.retrieved_right for trace in traces) - sum(trace.retrieved_right for trace in kept)
    n = len(traces)
    return Calibration(threshold, len(kept) / n, wrong / n, right / n)


def choose_threshold(traces: Sequence[LabelledTrace], *, most_wrong: float = 0.01) -> Calibration:
    """Return the threshold with the fewest retrievals that makes at most this share of turns wrong.

    It has four decimals, so the configured value is exactly the evaluated one. Returns 0, which always retrieves, if
    none meets the bound. InvalidInputError for a bound outside [0, 1].
    """
    if not 0 <= most_wrong <= 1:
        raise InvalidInputError(f"most_wrong is a share of the turns in [0, 1], got {most_wrong}")
    unsure = {trace.uncertainty for trace in traces if trace.uncertainty > 0}
    candidates = sorted({0.0, *(math.ceil(1e4 * one) / 1e4 for one in (min(unsure, default=1.0) / 2, *unsure))})[::-1]
    done = [at_threshold(traces, threshold) for threshold in candidates]
    return next(one for one in done if one.wrong <= most_wrong)
