"""Choose the uncertainty threshold from labelled traces: minimise retrievals within a bound on wrong answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class LabelledTrace:
    """One turn: the draft's uncertainty, and whether the draft and the answer after retrieval are correct."""

    uncertainty: float
    draft_right: bool
    retrieved_right: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """The effect of a threshold on labelled traces.

    Attributes:
        saved: share of turns that need no retrieval.
        wrong: share of turns in which a wrong draft is used although retrieval would have answered correctly.
        right: share of turns with a correct answer.
    """

    threshold: float
    saved: float
    wrong: float
    right: float


def labelled(controller: Controller, turns: Iterable[tuple[str, Callable[[str], bool]]]) -> list[LabelledTrace]:
    """Produce both answers to each turn and judge them with the function given for that turn. Nothing is stored.

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
    """Evaluate a threshold. Raises `InvalidInputError` if there are no traces."""
    if not traces:
        raise InvalidInputError("choosing a threshold needs at least one labelled trace")
    kept = [trace for trace in traces if threshold > 0 and trace.uncertainty <= threshold]
    wrong = sum(trace.retrieved_right and not trace.draft_right for trace in kept)
    right = sum(trace.draft_right for trace in kept)
    right += sum(trace.retrieved_right for trace in traces) - sum(trace.retrieved_right for trace in kept)
    n = len(traces)
    return Calibration(threshold, len(kept) / n, wrong / n, right / n)


def choose_threshold(traces: Sequence[LabelledTrace], *, most_wrong: float = 0.01) -> Calibration:
    """Return the threshold that needs the fewest retrievals while at most the share `most_wrong` of turns is wrong.

    It has four decimals, so the configured value is exactly the evaluated one. Returns 0, which always retrieves, if no
    threshold meets the bound. Raises `InvalidInputError` for a bound outside [0, 1].
    """
    if not 0 <= most_wrong <= 1:
        raise InvalidInputError(f"most_wrong must be a share of the turns in [0, 1], got {most_wrong}")
    unsure = {trace.uncertainty for trace in traces if trace.uncertainty > 0}
    candidates = sorted({0.0, *(math.ceil(1e4 * one) / 1e4 for one in (min(unsure, default=1.0) / 2, *unsure))})[::-1]
    done = [at_threshold(traces, threshold) for threshold in candidates]
    return next(one for one in done if one.wrong <= most_wrong)
