"""Mean and standard deviation of the last N values, at every position of many streams.

Streams are cut into blocks of N. A window is a suffix of one block and a prefix of the next (van Herk 1992; Gil and
Werman 1993), so one forward and one backward scan give all windows, and each sum contains only values in its window.
Sums are computed in float64, from differences to the first value in the later block, which belongs to all windows that
end there. Since that value's difference, 0, is one of the n, S2 <= (n + 1) M2 for any values, and M2 = S2 - S1^2 / n
loses at most log2(n + 1) of 53 bits to cancellation.

Legend: S streams, T new values, M earlier values, N values in a window, K blocks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK = 2**15  # values scanned at a time: as many as stay in a cache


class RollingStats(NamedTuple):
    """The result of `rolling_stats`."""

    mean: Tensor  # [..., T]
    std: Tensor  # [..., T]
    state: Tensor  # [..., M], of at most 2 window - 1 values: pass it with the values that follow


@torch.no_grad()
def rolling_stats(
    values: Tensor,  # [..., T]
    window: int,  # N
    state: Tensor | None = None,  # [..., M], returned by the previous call
    *,
    current: bool = True,
    correction: int = 0,
) -> RollingStats:
    """Return the mean and standard deviation of the last `window` values at each position, or of fewer values at the
    start.

    With `current`, the last value in a window is the value at the position. Without, it is the value before it, as for
    a threshold against which a value is compared. The sum of squares is divided by count - `correction`: 0 for a whole
    population, 1 as in pandas. Results are float32 (float64 for float64 values). They are NaN if undefined: if there is
    no value yet or, for the deviation, no more than `correction` values. The result is also NaN for a window that
    contains NaN or infinity, but not for later windows. The deviation of float64 values beyond 1e154 is NaN too,
    because their squares are infinite.

    The state is a plain tensor with the values since the start of the previous block. Any split of a stream into calls
    gives the same result as one call, bit for bit on a CPU. All streams advance together. A call takes O(M + T) time
    per stream.

    Raises `ValueError` if shapes, dtypes, window or correction are invalid.
    """
    state = _checked(values, window, state, correction)
    dtype = torch.float64 if values.dtype == torch.float64 else torch.float32
    known = torch.cat([state, values], dim=-1)
    length, m = known.shape[-1], state.shape[-1]
    begin = m if current else m - 1  # first position with a requested window
    flat = known.reshape(math.prod(known.shape[:-1]), length)
    mean = torch.empty(len(flat), values.shape[-1], dtype=dtype, device=values.device)
    std = torch.empty_like(mean)
    if begin < 0:
        mean[:, :1] = std[:, :1] = torch.nan
    first, last = max(0, begin) // window, -(-length // window)
    blocks = max(1, min(last - first, CHUNK // window))  # values scanned at a time, for this many streams
    streams = max(1, CHUNK // min(length + 1, (blocks + 1) * window))
    for stream in range(0, len(flat), streams):
        some = slice(stream, stream + streams)
        for block in range(first, last, blocks):
            low, high = max(begin, 0, block * window), min((block + blocks) * window, length - (not current))
            if low < high:
                part = _windows(flat[some], block, blocks, window, correction)
                there, here = slice(low - begin, high - begin), slice(low - block * window, high - block * window)
                mean[some, there], std[some, there] = part[0][:, here], part[1][:, here]
    kept = length if length < window else window + length % window
    return RollingStats(mean.view(values.shape), std.view(values.shape), known[..., length - kept :].clone())


def _windows(flat: Tensor, block: int, blocks: int, window: int, correction: int) -> tuple[Tensor, Tensor]:
    """Return the mean and deviation [S, ...] at each position, for `blocks` blocks from the beginning of a block, or up
    to the end.
    """
    before = min(block, 1)
    x = flat[:, (block - before) * window : (block + blocks) * window].double()
    if not bool(x.sum().isfinite()):
        x = torch.where(x.isfinite(), x, torch.nan)
    length = x.shape[1] - before * window
    if x.shape[1] % window and x.shape[1] > window:
        x = torch.nn.functional.pad(x, (0, -x.shape[1] % window))
    size = min(window, x.shape[1])
    x = x.reshape(len(x), x.shape[1] // size, size)  # [S, K, N]
    growing = torch.arange(1, size + 1, dtype=x.dtype, device=x.device)
    count = torch.cat([growing.expand(1 - before, size), growing[-1].expand(x.shape[1] - 1, size)])
    origin = x[:, before:, :1]  # the first value of a block belongs to all windows that end in it
    total, squares = _running(x[:, before:] - origin)
    if x.shape[1] > 1:
        later = slice(1 - before, None)
        ahead = _running(x[:, :-1, 1:].flip(-1).sub_(origin[:, later]))
        total[:, later, :-1] += ahead[0].flip(-1)
        squares[:, later, :-1] += ahead[1].flip(-1)
    mean = total / count
    squares -= total.mul_(mean)
    std = squares.clamp_(min=0).div_(count.sub_(correction)).sqrt_()
    if correction and not before:
        std[:, 0, :correction] = torch.nan
    return mean.add_(origin).flatten(1)[:, :length], std.flatten(1)[:, :length]


def _running(apart: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sums of the first 1, 2, … values along the last dimension, and of their squares."""
    return apart.cumsum(-1), apart.square_().cumsum(-1)


def _checked(values: Tensor, window: int, state: Tensor | None, correction: int) -> Tensor:
    """Return the validated state, or an empty state if it is None."""
    if values.ndim < 1 or not values.is_floating_point():
        raise ValueError(f"values must be [..., T] of floats, got {[*values.shape]} {values.dtype}")
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    if not 0 <= correction < window:
        raise ValueError(f"correction must be at least 0 and less than window = {window}, got {correction}")
    if state is None:
        return values[..., :0]
    if not isinstance(state, Tensor):
        raise TypeError(f"state must be the .state of a call's result, got {type(state).__name__}")
    fits = state.ndim == values.ndim and state.shape[:-1] == values.shape[:-1] and state.shape[-1] < 2 * window
    if not fits or state.dtype != values.dtype or state.device != values.device:
        raise ValueError(
            f"state must be the one returned for the same streams, window and dtype, {[*values.shape[:-1], 'M']} "
            f"with M < {2 * window}, {values.dtype} on {values.device}; "
            f"got {[*state.shape]} {state.dtype} on {state.device}"
        )
    return state
