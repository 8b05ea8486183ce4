"""Two opinions on the next byte made one: the network's, and that of the counts over the stream's own text.

They are mixed in the logarithmic domain, as in context-mixing compressors (Mahoney 2005, PAQ; Mattern 2012 for
alphabets beyond bits):

    P(b) ~ exp(w_1 ln P_network(b) + w_2 ln P_counts(b)),

with one pair of weights for each length of the longest context that the stream has seen before. The surprise is convex
in w, so the weights learn the stream while it is read: after each message one Newton step, whose
curvature adds up over the stream (online Newton step, Hazan et al. 2007), so that the step is right for a short message
and for a long one. Where the slope is steep for its curvature, as in a script that the network never saw, a whole step
would lead far astray: it is shortened. No opinion counts against what it says.

Both may be sure and wrong, and one such byte would outweigh a message. So what is said of a byte in the end is hedged,

    P'(b) = (1 - e) P(b) + e / 256,

and costs at most ln 256 + ln 1/e, 11.4 nats. The weights learn from P.

Shape legend: T positions, K levels, 2 opinions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from nscma_torch.buffer.byte_counts import LEVELS

VERSION = 3  # of what is learned and how: a state of another version is made anew
OPINIONS = 2  # the network, the counts
START = (0.65, 0.3)  # weights of the network and of the counts at a stream's start
STIFFNESS = 1000.0  # curvature before the stream's own: that of a few hundred bytes
FARTHEST = 10.0  # largest Newton decrement of a whole step; chat stays below 2, an unknown script comes to 40
FADING = 1e4  # bytes after which the curvature of a byte has fallen to 1/e, so that learning never ends
HEDGE = 0.003  # e, share of even odds: of .0005 .. .05 the largest that costs English meetings under .005 bits a byte
NUMBERS = LEVELS * (OPINIONS + OPINIONS**2)  # fp32 in a state


class Mixture(NamedTuple):
    """What mixing has learned of a stream."""

    weights: Tensor  # [K, 2] fp32
    curvature: Tensor  # [K, 2, 2] fp32, symmetric and positive definite

    @classmethod
    def initial(cls, device: torch.device) -> Mixture:
        """Before a stream's first byte."""
        return cls(torch.tensor(START, device=device).expand(LEVELS, OPINIONS), _stiff(device))

    @classmethod
    def unpacked(cls, numbers: Tensor) -> Mixture:
        """From its `NUMBERS` numbers in a row."""
        weights, curvature = numbers[: LEVELS * OPINIONS], numbers[LEVELS * OPINIONS :]
        return cls(weights.view(LEVELS, OPINIONS), curvature.view(LEVELS, OPINIONS, OPINIONS))

    def mix(self, opinions: Tensor, level: Tensor) -> Tensor:
        """ln P [T, 256] from the opinions' ln P [T, 2, 256] and the level [T] of each position."""
        return torch.log_softmax((self.weights[level][..., None] * opinions).sum(1), -1)

    def learned(self, opinions: Tensor, level: Tensor, mixed: Tensor, target: Tensor) -> Mixture:
        """The mixture after positions whose bytes turned out to be `target` [T]; `mixed` is what `mix` returned."""
        chance = mixed.exp()[:, None]  # [T, 1, 256]
        expected = (chance * opinions).sum(-1)  # [T, 2]
        said = opinions.gather(-1, target[:, None, None].expand(-1, OPINIONS, 1))[..., 0]
        apart = opinions - expected[..., None]
        spread = (chance * apart) @ apart.mT  # [T, 2, 2]
        of_level = one_hot(level, LEVELS).float().T  # [K, T]
        slope = of_level @ (expected - said)
        stiff = _stiff(target.device)
        curvature = stiff + math.exp(-len(target) / FADING) * (self.curvature - stiff)
        curvature = curvature + (of_level @ spread.flatten(1)).view_as(curvature)
        step = _solved(curvature, slope)
        decrement = (step * slope).sum(-1, keepdim=True).clamp(min=0).sqrt()  # Newton's
        return Mixture((self.weights - step * (FARTHEST / decrement).clamp(max=1)).clamp(min=0), curvature)


def hedged(mixed: Tensor) -> Tensor:
    """ln P' of any bytes from their ln P; it falls by at most e, and nothing is below ln(e / 256)."""
    return torch.logaddexp(mixed + math.log1p(-HEDGE), torch.full_like(mixed, math.log(HEDGE / 256)))


def _stiff(device: torch.device) -> Tensor:
    return (STIFFNESS * torch.eye(OPINIONS, device=device)).expand(LEVELS, OPINIONS, OPINIONS)


def _solved(matrix: Tensor, vector: Tensor) -> Tensor:
    """x of matrix x = vector for symmetric positive definite [.., 2, 2] and [.., 2], by Cramer's rule in fp64."""
    (a, b), (_, d) = matrix.double().movedim((-2, -1), (0, 1))
    p, q = vector.double().unbind(-1)
    solution: Tensor = torch.stack([d * p - b * q, a * q - b * p], -1) / (a * d - b * b)[..., None]
    return solution.float()
