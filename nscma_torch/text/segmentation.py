"""Segment a text at its surprise peaks (Fountas et al. 2024, EM-LLM, arXiv:2407.09450).

In equation 1, token t begins a new event if -log P(x_t | x_<t) > mu_{t-tau:t} + gamma * sigma_{t-tau:t}. Here the
equation is applied to sentences instead of tokens, using the mean surprise over each sentence's bytes, so no event
begins inside a sentence. The paper then moves boundaries using its model's attention keys; the bundled surprise model
has none, so boundaries aren't moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from nscma_kernels import rolling_stats
from nscma_torch.core.config import ChunkerConfig
from nscma_torch.core.errors import InvalidInputError

LEAST_KNOWN = 2  # sentences before the first that is judged: one has no deviation


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Cuts a text at its surprise peaks.

    Attributes:
        surprise: returns the nats for each byte in a text's UTF-8 form, fp32 [bytes] or longer; a pure function of the
            text.
        gamma: number of standard deviations by which a peak must exceed the mean.
        window: tau, the number of preceding sentences for mean and standard deviation.
        min_tokens: minimum tokens in a segment; a shorter one continues past a peak.
    """

    surprise: Callable[[str], Tensor]
    gamma: float = ChunkerConfig().gamma
    window: int = ChunkerConfig().window
    min_tokens: int = ChunkerConfig().min_tokens

    def starts(self, text: str, sentences: Sequence[tuple[int, int]]) -> frozenset[int]:
        """Return the positions of the first characters of the sentences that begin a new segment.

        Args:
            sentences: each sentence's characters `start:end`, in order, without overlap.

        Raises:
            InvalidInputError: `surprise` returned fewer values than the text has bytes.
        """
        peaks = surprise_peaks(mean_surprise(text, sentences, self.surprise(text)), self.window, self.gamma)
        return frozenset(start for (start, _), peak in zip(sentences, peaks.tolist(), strict=True) if peak)


def surprise_peaks(surprise: Tensor, window: int, gamma: float) -> Tensor:
    """Mark which of T values are above mu + gamma * sigma of the `window` values before them; returns bool [T]."""
    if not len(surprise):
        return torch.zeros(0, dtype=torch.bool)
    usual = rolling_stats(surprise.double(), window, current=False)
    peaks = surprise > usual.mean + gamma * usual.std
    peaks[:LEAST_KNOWN] = False
    return peaks


def mean_surprise(text: str, spans: Sequence[tuple[int, int]], nats: Tensor) -> Tensor:
    """Return the mean nats per byte, float64 [n], for n spans of characters, given the nats for each byte in the
    text."""
    edges = list(chain.from_iterable(spans))
    at, before = [0], 0
    for edge in edges:
        at.append(at[-1] + len(text[before:edge].encode()))
        before = edge
    if at[-1] > len(nats):
        raise InvalidInputError(f"surprise has {len(nats)} values for at least {at[-1]} bytes: it needs one per byte")
    total = torch.cat([torch.zeros(1, dtype=torch.float64), nats.double().cumsum(0)])
    begin, end = torch.tensor(at[1::2], dtype=torch.int64), torch.tensor(at[2::2], dtype=torch.int64)
    return (total[end] - total[begin]) / (end - begin).clamp(min=1)
