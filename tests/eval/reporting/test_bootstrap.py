"""Bootstrap intervals: against closed forms, over samples and not questions, and paired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from eval.reporting import bootstrap
from eval.reporting.bootstrap import LEVEL, NOTHING, Interval, Stratum, difference, mean
from eval.reporting.shares import newcombe


def stratum(totals: Sequence[float], counts: Sequence[int] = ()) -> Stratum:
    values = np.array(totals, dtype=np.float64)
    return Stratum(values, np.array(counts or [1] * len(totals), dtype=np.float64), len(totals))


def test_a_share_has_the_interval_of_the_normal_distribution() -> None:
    n, right = 400, 280
    found = mean([stratum([1.0] * right + [0.0] * (n - right))], seed=1)
    share = right / n
    half = 1.959964 * math.sqrt(share * (1 - share) / n)
    assert found.value == share
    assert found.low == pytest.approx(share - half, abs=0.004)
    assert found.high == pytest.approx(share + half, abs=0.004)
    assert (found.samples, found.questions) == (n, n)


def test_a_small_sample_has_the_quantiles_of_the_binomial() -> None:
    """Of 10 samples with 5 right a draw has Binomial(10, 1/2) right, of which 2.5 % lie at 2 or below (5.5 %)."""
    found = mean([stratum([0.8, 0.0] * 5)], seed=3)
    assert (found.low, found.high) == pytest.approx((0.16, 0.64))


def test_a_small_share_has_wilsons_interval() -> None:
    """Wilson's of 5 in 10 is .2366 to .7634, of 10 in 10 .7225 to 1 (Newcombe 1998, by his method 3)."""
    found = mean([stratum([1.0, 0.0] * 5)], seed=1)
    assert (found.low, found.high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    whole = mean([stratum([1.0] * 10)], seed=1)
    assert (whole.low, whole.high) == pytest.approx((0.7225, 1.0), abs=1e-4)
    many = mean([stratum([1.0] * 100)], seed=1)
    assert (many.low, many.high) == pytest.approx((0.9630, 1.0), abs=1e-4), "a hundred that are all right are no proof"
    half = mean([stratum([1.0] * 10)] * 4, seed=1)
    assert 1 - half.low == pytest.approx((1 - whole.low) / 2), "four that are alike are twice as sharp"


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("strata", [1, 3])
def test_the_interval_of_a_few_holds_the_truth(share: float, strata: int) -> None:
    """Of five samples of each task, in at least 90 of 100 draws (Wilson's at .9 is at 91.9); the bootstrap's in 40."""
    generator = np.random.default_rng(7)
    held, draws = 0, 1000

    @cache
    def of(*right: int) -> Interval:
        """The estimate of so many right of five in each stratum: there are 6 ** strata, of a thousand draws."""
        return mean([stratum([1.0] * count + [0.0] * (5 - count)) for count in right], seed=1)

    for _ in range(draws):
        found = of(*(int((generator.random(5) < share).sum()) for _ in range(strata)))
        held += found.low <= share <= found.high
    assert held / draws >= 0.9


def test_holm_corrects_for_the_number_of_tests() -> None:
    """Holm (1979): the smallest times all, the next times one fewer, never below the one before."""
    assert bootstrap.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    nothing, one = bootstrap.holm([math.nan, 0.04])
    assert math.isnan(nothing) and one == 0.04


def test_p_of_a_difference() -> None:
    flat = difference([stratum([1.0, 0.0] * 10)], [stratum([1.0, 0.0] * 10)], seed=1)
    assert flat.p == 1.0
    apart = difference([stratum([1.0] * 20)], [stratum([1.0, 0.0] * 10)], seed=1)
    assert apart.p < 0.001
    near = difference([stratum([1.0] * 20)], [stratum([1.0] * 17 + [0.0] * 3)], seed=1)
    assert near.p == pytest.approx(2 * 0.85**20, abs=0.02), "none of the three is drawn"


def test_samples_are_drawn_and_not_their_questions() -> None:
    """All questions of a sample alike: the interval is that of the samples, however many questions they have."""
    alone = mean([stratum([1.0, 0.0] * 20)], seed=1)
    together = mean([stratum([10.0, 0.0] * 20, [10] * 40)], seed=1)
    assert (together.value, together.low, together.high) == (alone.value, alone.low, alone.high)
    assert (together.samples, together.questions) == (40, 400)


def test_samples_weigh_by_their_questions() -> None:
    assert mean([stratum([3.0, 0.0], [3, 1])], seed=1).value == 0.75


def test_strata_count_alike_and_are_drawn_apart() -> None:
    found = mean([stratum([0.9] * 10), stratum([0.1] * 30)], seed=1)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)


def test_a_paired_difference_is_sharper_than_two_scores() -> None:
    first = stratum([1.0, 0.0] * 50)
    second = stratum([0.0, 0.0] + [1.0, 0.0] * 49)  # the same but for one sample
    found = difference([first], [second], seed=1)
    assert found.value == pytest.approx(0.01)
    assert found.low == 0.0
    assert found.high <= 0.05
    alone = mean([first], seed=1)
    assert alone.high - alone.low > 0.15


def pairs(both: int, first: int, second: int, neither: int) -> tuple[Stratum, Stratum]:
    """Two systems on the same questions: how many both get right, each alone, and neither."""
    return (
        stratum([1.0] * (both + first) + [0.0] * (second + neither)),
        stratum([1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither),
    )


@pytest.mark.parametrize(
    ("counts", "bounds", "exact"),
    [((14, 5, 0, 22), (0.011, 0.226), 5e-4), ((59, 6, 16, 80), (-0.1186, -0.0046), 5e-5)],
    ids=["Altman et al. 2000, Statistics with Confidence, table 6.2", "as the R package contingencytables has it"],
)
def test_newcombes_interval_of_worked_examples(
    counts: tuple[int, int, int, int], bounds: tuple[float, float], exact: float
) -> None:
    first, second = pairs(*counts)
    assert newcombe(first.totals, second.totals, LEVEL) == pytest.approx(bounds, abs=exact)


def test_a_difference_of_few_shares_says_no_more_than_they_do() -> None:
    """22 of 23 less 23 of 23: below, it is as far from 1 as Wilson's bound of 22 in 23, .790; no draw is above 0."""
    first, second = pairs(22, 0, 1, 0)
    found = difference([first], [second], seed=1)
    assert found.value == pytest.approx(-1 / 23)
    assert found.low == pytest.approx(mean([first], seed=1).low - 1)
    assert found.high > 0, "one pair that differs shows nothing"
    mirrored = difference([second], [first], seed=1)
    assert (mirrored.value, mirrored.low, mirrored.high) == pytest.approx((-found.value, -found.high, -found.low))
    four = difference([first] * 4, [second] * 4, seed=1)
    assert four.value - four.low == pytest.approx((found.value - found.low) / 2), "four that are alike, twice as sharp"


@pytest.mark.parametrize("n", [5, 29, 200])
def test_where_no_pair_differs_more_samples_make_the_interval_shorter(n: int) -> None:
    alike = difference([stratum([1.0] * n)], [stratum([1.0] * n)], seed=1)
    assert (alike.value, alike.p) == (0.0, 1.0)
    assert -alike.low == alike.high == pytest.approx(1 / (1 + n / 1.959964**2)), "1 less Wilson's bound of n in n"
    mixed = difference([stratum([1.0, 0.0] * n)], [stratum([1.0, 0.0] * n)], seed=1)
    assert mixed.low < 0 < mixed.high


def test_the_interval_of_a_difference_holds_it_and_stays_between_minus_one_and_one() -> None:
    generator = np.random.default_rng(3)
    for _ in range(200):
        counts = generator.multinomial(generator.integers(2, 30), generator.dirichlet([0.3] * 4))
        first, second = pairs(*map(int, counts))
        found = difference([first], [second], seed=1)
        assert -1 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high


def test_the_same_seed_draws_the_same() -> None:
    values = stratum([1.0, 0.0, 0.5, 0.25])
    assert mean([values], seed=5) == mean([values], seed=5)
    flat = difference([values], [values], seed=5)
    assert (flat.low, flat.high) == (0.0, 0.0)


def test_what_is_not_there_has_no_interval() -> None:
    assert mean([], seed=1) is NOTHING
    assert mean([stratum([1.0]), stratum([])], seed=1) is NOTHING
    assert str(NOTHING) == "–"
    one = mean([stratum([1.0])], seed=1)
    assert math.isnan(one.low) and str(one) == "1.000 [one question]"
    assert str(Interval(0.5, 0.25, 0.75, 4, 4, 4)) == "0.500 [0.250, 0.750]"
    assert str(Interval(0.5, 0.25, 0.75, 4, 8, 8)) == "0.500 [0.250, 0.750]†"


def test_of_few_samples_the_questions_are_drawn() -> None:
    few = bootstrap.stratum({f"talk {i}": [1.0] * 40 + [0.0] * 10 for i in range(2)} | {"empty": []})
    assert (len(few.totals), few.samples) == (100, 2)
    found = mean([few], seed=1)
    assert (found.samples, found.questions, found.drawn) == (2, 100, 100)
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(0.8 * 0.2 / 100), abs=0.02)
    many = bootstrap.stratum({f"talk {i}": [1.0] * 40 + [0.0] * 10 for i in range(10)})
    assert (len(many.totals), many.samples) == (10, 10)
    alike = mean([many], seed=1)
    assert (alike.low, alike.high) == (0.8, 0.8), "all samples score the same"


def test_different_samples_are_no_pair() -> None:
    with pytest.raises(ValueError, match="same samples"):
        difference([stratum([1.0])], [stratum([1.0, 0.0])], seed=1)
