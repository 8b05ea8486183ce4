"""Which way a metric is better, and what a question scores that a system failed on. All metrics are in [0, 1]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

OUTCOMES = ("tp", "fp", "fn", "tn")  # of a question of two classes, one of them 1
LOWER_IS_BETTER = frozenset({"outdated", "fp", "fn"})


def better(metric: str, difference: float) -> bool:
    """Whether a score that is higher by the difference is the better one."""
    return difference < 0 if metric in LOWER_IS_BETTER else difference > 0


def worst(metrics: Iterable[str]) -> dict[str, float]:
    """The worst scores that there are."""
    return {metric: float(metric in LOWER_IS_BETTER) for metric in metrics}


def failed(scores: Mapping[str, float]) -> dict[str, float]:
    """The worst scores of a question, by any reply's to it: these metrics apply, and its class is this."""
    lost = worst(scores)
    if scores.keys() >= set(OUTCOMES):
        positive = scores["tp"] + scores["fn"] > 0
        lost |= {name: float(name == ("fn" if positive else "fp")) for name in OUTCOMES}
    return lost
