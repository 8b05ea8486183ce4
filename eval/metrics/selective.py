"""How well a confidence tells right answers from wrong ones (El-Yaniv & Wiener 2010; Guo et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence


def coverage_at(accuracy: float, confidences: Sequence[float], right: Sequence[bool], asked: int) -> float:
    """Return the largest share of `asked` questions that can be answered with at least this accuracy.

    The answers with the highest confidence are given first; answers of equal confidence are given together. Questions
    without an answer are counted in `asked` alone.
    """
    order = sorted(zip(confidences, right, strict=True), key=lambda one: -one[0])
    covered = hits = 0
    for place, (sure, is_right) in enumerate(order, start=1):
        hits += is_right
        last_of_equals = place == len(order) or order[place][0] < sure
        if last_of_equals and hits >= accuracy * place:
            covered = place
    return covered / asked if asked else 0.0


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Return the expected calibration error: the mean distance of confidence and accuracy over bins of equal width."""
    if not confidences:
        return 0.0
    held: dict[int, list[tuple[float, bool]]] = {}
    for one in zip(confidences, right, strict=True):
        held.setdefault(min(bins - 1, int(one[0] * bins)), []).append(one)
    return sum(abs(sum(p for p, _ in own) - sum(r for _, r in own)) for own in held.values()) / len(confidences)
