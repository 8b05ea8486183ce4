"""Mix two predictions of the next byte: one by the network, one from counts over the stream's own text.

They are mixed in the logarithmic domain, as in context-mixing compressors (Mahoney 2005, PAQ; Mattern 2012 for larger
alphabets than bits):

    P(b) ~ exp(w_1 ln P_network(b) + w_2 ln P_counts(b)),

with one pair of weights for each length of the longest context that occurred in the stream before. The surprise is
convex in w, so the weights can be learned while the stream is read, by one Newton step after each message. Its
curvature accumulates over the stream (online Newton step, Hazan et al. 2007), which suits both short and long messages.
If the slope is steep for its curvature, as in a script that the network never saw, the step is shortened, because a
full step would overshoot. A prediction's weight is never negative.

Both predictions may be confidently wrong, and one such byte would outweigh a whole message. So the mixed probability is
hedged,

    P'(b) = (1 - e) P(b) + e / 256,

and costs at most ln 256 + ln 1/e = 11.4 nats. The weights learn from P.

Shape legend: T positions, K levels, 2 opinions (the network, the counts).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from nscma_torch.surprise.byte_model.byte_counts import LEVELS

VERSION = 3  # version of the learned values: a state of another version is recomputed
VOCABULARY = 256
OPINIONS = 2  # the network, the counts
START = (0.65, 0.3)  # weights of the network and of the counts at a stream's start
STIFFNESS = 1000.0  # curvature before the stream's own: that of a few hundred bytes
FARTHEST = 10.0  # largest Newton decrement of a whole step; chat stays below 2, an unknown script comes to 40
FADING = 1e4  # bytes after which a byte's curvature has decayed to 1/e, so learning never ends
HEDGE = 0.003  # e, share of even odds: of .0005 .. .05 the largest that costs English meetings under .005 bits a byte
NUMBERS = LEVELS * (OPINIONS + OPINIONS**2)  # fp32 in a state


class Mixture(NamedTuple):
    """The mixing weights learned from a stream, and their curvature."""

    weights: Tensor  # [K, 2] fp32
    curvature: Tensor  # [K, 2, 2] fp32, symmetric and positive definite

    @classmethod
    def initial(cls, device: torch.device) -> Mixture:
        """Return the mixture before a stream's first byte."""
        return cls(torch.tensor(START, device=device).expand(LEVELS, OPINIONS), _stiff(device))

    @classmethod
    def unpacked(cls, numbers: Tensor) -> Mixture:
        """Build from a flat tensor of `NUMBERS` numbers."""
        weights, curvature = numbers[: LEVELS * OPINIONS], numbers[LEVELS * OPINIONS :]
        return cls(weights.view(LEVELS, OPINIONS), curvature.view(LEVELS, OPINIONS, OPINIONS))

    def read(self, network: Tensor, counts: Tensor, level: Tensor, target: Tensor) -> Read:
        """Return the result of reading the actual bytes `target` [T] at T positions.

        Args:
            network, counts: ln P [T, 256] fp32, each row up to a constant.
            level: [T] int64, for each position, the length of the longest context that occurred in the stream before.
        """
        # relative to the byte that came, whose mixed logarithm is 0 then
        network = network - network.gather(1, target[:, None])
        counts = counts - counts.gather(1, target[:, None])
        trust = self.weights[level]  # [T, 2]
        chance = torch.softmax((network * trust[:, :1]).addcmul_(counts, trust[:, 1:]), 1)
        of_network, of_counts = chance * network, chance * counts
        expected = torch.stack([of_network.sum(1), of_counts.sum(1)], 1)  # [T, 2]
        mixed = of_network.mul(counts).sum(1)
        squares = [of_network.mul_(network).sum(1), mixed, mixed, of_counts.mul_(counts).sum(1)]
        spread = torch.stack(squares, 1) - (expected[:, :, None] * expected[:, None]).flatten(1)  # [T, 4]
        of_level = one_hot(level, LEVELS).float().T  # [K, T]
        said = chance.gather(1, target[:, None])[:, 0]
        return Read(said, of_level @ expected, (of_level @ spread).view(LEVELS, OPINIONS, OPINIONS))

    def learned(self, read: Read, size: int) -> Mixture:
        """Return the mixture after reading `size` bytes with this result."""
        stiff = _stiff(read.slope.device)
        curvature = stiff + math.exp(-size / FADING) * (self.curvature - stiff) + read.curvature
        step = _solved(curvature, read.slope)
        decrement = (step * read.slope).sum(-1, keepdim=True).clamp(min=0).sqrt()  # Newton's
        return Mixture((self.weights - step * (FARTHEST / decrement).clamp(max=1)).clamp(min=0), curvature)


class Read(NamedTuple):
    """The result of reading bytes: their probabilities, and the first two derivatives of their surprise with respect to
    the weights.
    """

    chance: Tensor  # [T] fp32, P of each byte
    slope: Tensor  # [K, 2] fp32
    curvature: Tensor  # [K, 2, 2] fp32

    @classmethod
    def joined(cls, parts: Sequence[Read]) -> Read:
        """Join the results from consecutive parts."""
        if len(parts) == 1:
            return parts[0]
        chances, slopes, curvatures = zip(*parts, strict=True)
        return cls(torch.cat(chances), torch.stack(slopes).sum(0), torch.stack(curvatures).sum(0))


def hedged(chance: Tensor) -> Tensor:
    """Return ln P' for bytes with probabilities P. It is lower than ln P by at most about e, and is at least ln(e /
    256).
    """
    return chance.mul(1 - HEDGE).add_(HEDGE / VOCABULARY).log_()


def _stiff(device: torch.device) -> Tensor:
    return (STIFFNESS * torch.eye(OPINIONS, device=device)).expand(LEVELS, OPINIONS, OPINIONS)


def _solved(matrix: Tensor, vector: Tensor) -> Tensor:
    """Solve `matrix` x = `vector` by Cramer's rule in fp64, for symmetric positive definite [.., 2, 2] and
    for [.., 2].
    """
    (a, b), (_, d) = matrix.double().movedim((-2, -1), (0, 1))
    p, q = vector.double().unbind(-1)
    solution: Tensor = torch.stack([d * p - b * q, a * q - b * p], -1) / (a * d - b * b)[..., None]
    return solution.float()
