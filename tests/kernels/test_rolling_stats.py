"""`rolling_stats` against its definition, window by window, in float64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nscma_kernels import rolling_stats
from nscma_torch.surprise.rules import Statistics

SHAPES = [(3, 50, 7), (1, 401, 41), (2, 100, 1), (2, 9, 20), (4, 300, 300), (1, 1, 1), (2, 1271, 64), (5, 2, 1)]


def truth(values: Tensor, window: int, current: bool = True, correction: int = 0) -> tuple[Tensor, Tensor]:
    """Each window on its own."""
    mean, std = (torch.full(values.shape, math.nan, dtype=torch.float64) for _ in range(2))
    for t in range(values.shape[-1]):
        end = t + 1 if current else t
        part = values[..., max(0, end - window) : end].double()
        if part.shape[-1]:
            mean[..., t] = part.mean(-1)
        if part.shape[-1] > correction:
            std[..., t] = part.std(-1, correction=correction)
    return mean, std


def streams(s: int, t: int, seed: int = 0) -> Tensor:
    """Much larger than they vary, where sums of squares in float32 go wrong."""
    return 8 + 0.014 * torch.randn(s, t, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("current", [True, False])
@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_each_window(shape: tuple[int, int, int], correction: int, current: bool) -> None:
    s, t, window = shape
    correction = min(correction, window - 1)
    values = streams(s, t)
    got = rolling_stats(values, window, current=current, correction=correction)
    mean, std = truth(values, window, current, correction)
    torch.testing.assert_close(got.mean.double(), mean, rtol=2.0**-24, atol=0, equal_nan=True)  # rounded once
    torch.testing.assert_close(got.std.double(), std, rtol=1e-7, atol=1e-12, equal_nan=True)
    assert got.mean.dtype == got.std.dtype == torch.float32


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e6, 1e8])
def test_keeps_its_precision_far_from_zero(offset: float) -> None:
    values = offset + torch.randn(2, 700, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    got = rolling_stats(values, 64)
    mean, std = truth(values - offset, 64)  # an exact difference, and so an exact truth
    torch.testing.assert_close(got.mean, offset + mean, rtol=1e-15, atol=1e-15)
    torch.testing.assert_close(got.std[:, 1:], std[:, 1:], rtol=1e-13, atol=0)


def test_an_outlier_leaves_no_trace() -> None:
    values = streams(1, 500)
    values[0, 130] = 1e12
    got, std = rolling_stats(values, 50), truth(values, 50)[1]
    torch.testing.assert_close(got.std[0, 180:].double(), std[0, 180:], rtol=1e-6, atol=0)


def test_constant_values_do_not_vary() -> None:
    got = rolling_stats(torch.full((2, 90), 0.1), 7)
    assert torch.equal(got.mean, torch.full((2, 90), 0.1))
    assert torch.equal(got.std, torch.zeros(2, 90))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.lists(st.integers(0, 60), min_size=1, max_size=6), st.booleans(), st.integers(0, 2**31))
def test_any_split_equals_the_whole(window: int, lengths: list[int], current: bool, seed: int) -> None:
    values = streams(2, sum(lengths), seed)
    whole = rolling_stats(values, window, current=current)
    state, parts = None, []
    for part in values.split(lengths, dim=1):
        parts.append(rolling_stats(part, window, state, current=current))
        state = parts[-1].state
        assert state.shape[1] < 2 * window
    assert torch.equal(torch.cat([part.mean for part in parts], 1).nan_to_num(-1), whole.mean.nan_to_num(-1))
    assert torch.equal(torch.cat([part.std for part in parts], 1).nan_to_num(-1), whole.std.nan_to_num(-1))
    assert state is not None
    assert torch.equal(state, whole.state)


def test_many_values_equal_few_at_a_time() -> None:
    """More than are scanned at a time, of one stream and of many."""
    for s, t, window in ((1, 70_000, 64), (70_000, 1, 3), (300, 300, 41), (2, 40_000, 4_000)):
        values = streams(s, t)
        whole = rolling_stats(values, window)
        first = rolling_stats(values[:, : t // 2], window)
        second = rolling_stats(values[:, t // 2 :], window, first.state)
        for name in ("mean", "std"):
            parts = [getattr(part, name) for part in (first, second)]
            assert torch.equal(torch.cat(parts, 1), getattr(whole, name)), (s, t, window)
        mean, std = truth(values[:2, -window - 50 :], window)
        torch.testing.assert_close(whole.mean[:2, -50:].double(), mean[:, -50:])
        torch.testing.assert_close(whole.std[:2, -50:].double(), std[:, -50:], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 6, 7, 20])
def test_what_is_not_finite_is_seen_while_in_the_window_only(bad: float, place: int) -> None:
    values = streams(2, 60)
    clean = rolling_stats(values, 7)
    values[0, place] = bad
    got = rolling_stats(values, 7)
    within = torch.arange(60).sub(place).ge(0) & torch.arange(60).sub(place).lt(7)
    for name in ("mean", "std"):
        one, other = getattr(got, name), getattr(clean, name)
        assert one[0].isnan().equal(within)
        torch.testing.assert_close(one[0, ~within], other[0, ~within], rtol=1e-6, atol=0)
        assert torch.equal(one[1], other[1])


def test_equals_the_statistics_of_the_gate() -> None:
    values = streams(1, 200)[0]
    got = rolling_stats(values, 64, current=False)
    for t in (1, 8, 63, 64, 65, 199):
        seen = Statistics.of(values[max(0, t - 64) : t].tolist(), (0.0, 1.0), 0)
        assert float(got.mean[t]) == pytest.approx(seen.mean, rel=1e-7)
        assert float(got.std[t]) == pytest.approx(seen.sd, rel=1e-6, abs=1e-12)


def test_leading_dimensions_dtypes_and_no_values() -> None:
    values = streams(6, 40)
    got = rolling_stats(values.view(2, 3, 40), 9)
    assert torch.equal(got.std.view(6, 40), rolling_stats(values, 9).std)
    assert torch.equal(rolling_stats(values[2], 9).mean, got.mean.view(6, 40)[2])
    assert torch.equal(rolling_stats(values.T.contiguous().T, 9).mean, got.mean.view(6, 40))
    assert rolling_stats(values.double(), 9).std.dtype == torch.float64
    assert rolling_stats(values.bfloat16(), 9).std.dtype == torch.float32
    for shape in ((0,), (3, 0), (0, 5)):
        nothing = rolling_stats(torch.empty(shape), 4)
        assert nothing.mean.shape == nothing.std.shape == shape
    again = rolling_stats(values[:, :0], 9, rolling_stats(values, 9).state)
    assert torch.equal(again.state, rolling_stats(values, 9).state)


def test_the_state_is_a_copy() -> None:
    values = streams(1, 10)
    state = rolling_stats(values, 4).state
    before = state.clone()
    values.zero_()
    assert torch.equal(state, before)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((torch.tensor(1.0), 3), {}, "of floats"),
        ((torch.ones(3, dtype=torch.int64), 3), {}, "of floats"),
        ((torch.ones(3), 0), {}, "window must be"),
        ((torch.ones(3), 3), {"correction": 3}, "correction must be"),
        ((torch.ones(3), 3), {"correction": -1}, "correction must be"),
        ((torch.ones(2, 3), 3, torch.ones(3)), {}, "state must be"),
        ((torch.ones(2, 3), 3, torch.ones(1, 3)), {}, "state must be"),
        ((torch.ones(3), 3, torch.ones(6)), {}, "state must be"),
        ((torch.ones(3), 3, torch.ones(2).double()), {}, "state must be"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rolling_stats(*arguments, **options)


def test_the_state_goes_in_and_not_all_that_was_returned() -> None:
    with pytest.raises(TypeError, match=r"\.state"):
        rolling_stats(torch.ones(3), 3, rolling_stats(torch.ones(3), 3))  # type: ignore[arg-type]
