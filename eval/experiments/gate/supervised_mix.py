"""An upper reference for the gate: a linear mix of its signals whose weights are fitted on the benchmark's own labels.

It never ships. A talk with an even index is scored by a mix fitted on the other even ones, a talk with an odd index by
one fitted on all even ones, so that no talk's own labels reach its scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

PENALTY = 1e-3  # times the squared weights
STEPS = 200  # of L-BFGS


def standardized(columns: Sequence[Sequence[float]]) -> Tensor:
    """Signals of one talk as [n, signals], each with mean 0 and deviation 1 within the talk."""
    values = torch.tensor(columns, dtype=torch.float64).T
    return (values - values.mean(0)) / values.std(0, unbiased=False).clamp_min(1e-6)


def fit(signals: Tensor, needed: Tensor) -> Tensor:
    """Weights [signals] of the logistic regression of `needed` [n] on `signals` [n, signals], penalised."""
    weights = torch.zeros(signals.shape[1] + 1, dtype=signals.dtype, requires_grad=True)
    optim = torch.optim.LBFGS([weights], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optim.zero_grad()
        odds = signals @ weights[1:] + weights[0]
        value = torch.nn.functional.binary_cross_entropy_with_logits(odds, needed.to(odds.dtype))
        value = value + PENALTY * weights[1:].square().sum()
        torch.autograd.backward(value)
        return value

    optim.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach()[1:]


def cross_validated(signals: Sequence[Tensor], needed: Sequence[Sequence[bool]], even: Sequence[bool]) -> list[Tensor]:
    """Scores [n] of each talk by weights fitted on the even talks other than itself.

    Raises `ValueError` with fewer than two even talks.
    """
    if sum(even) < 2:
        raise ValueError("the mix needs two talks with an even index: one to fit it on, one to score")
    labels = [torch.tensor(own) for own in needed]
    scores = []
    for i, own in enumerate(signals):
        others = [j for j, is_even in enumerate(even) if is_even and j != i]
        weights = fit(torch.cat([signals[j] for j in others]), torch.cat([labels[j] for j in others]))
        scores.append(own @ weights)
    return scores
