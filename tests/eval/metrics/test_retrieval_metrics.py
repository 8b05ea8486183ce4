"""Overlapping NMI against a plain reading of its paper, and cases worked by hand."""

from __future__ import annotations

import math
import random

import pytest

from eval.metrics.retrieval_metrics import overlapping_nmi

Cover = list[set[int]]


def by_the_paper(first: Cover, second: Cover, n: int) -> float:
    """McDaid et al. 2011, equations 1 to 6, pair by pair."""

    def h(count: int) -> float:
        return 0.0 if count == 0 else -count * math.log2(count / n)

    def entropy(cluster: set[int]) -> float:
        return h(len(cluster)) + h(n - len(cluster))

    def given(one: Cover, other: Cover) -> float:
        total = 0.0
        for x in one:
            least = entropy(x)
            for y in other:
                a, b, c, d = n - len(x | y), len(y - x), len(x - y), len(x & y)
                if h(a) + h(d) >= h(b) + h(c):
                    least = min(least, h(a) + h(b) + h(c) + h(d) - entropy(y))
            total += least
        return total

    h_x, h_y = sum(map(entropy, first)), sum(map(entropy, second))
    return (h_x - given(first, second) + h_y - given(second, first)) / 2 / max(h_x, h_y)


@pytest.mark.parametrize("seed", range(40))
def test_overlapping_nmi_is_that_of_the_paper(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(4, 30)

    def cover() -> Cover:
        return [set(rng.sample(range(n), rng.randint(1, n - 1))) for _ in range(rng.randint(1, 6))]

    first, second = cover(), cover()
    assert overlapping_nmi(first, second, n) == pytest.approx(by_the_paper(first, second, n), abs=1e-9)
    assert overlapping_nmi(first, second, n) == pytest.approx(overlapping_nmi(second, first, n), abs=1e-9)


def test_equal_covers_have_an_nmi_of_one_in_any_order_and_with_nodes_in_no_cluster() -> None:
    assert overlapping_nmi([{0, 1, 2}, {2, 3}], [{3, 2}, {2, 1, 0}], 6) == pytest.approx(1.0)


def test_independent_halves_share_nothing() -> None:
    assert overlapping_nmi([{0, 1}, {2, 3}], [{0, 2}, {1, 3}], 4) == pytest.approx(0.0)


def test_a_cover_without_clusters_shares_nothing() -> None:
    assert overlapping_nmi([{0, 1}], [], 4) == 0.0


def test_covers_that_say_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="neither cover"):
        overlapping_nmi([{0, 1}], [], 2)
