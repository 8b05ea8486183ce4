"""The supervised reference: it finds the weights, and no talk's own labels reach its scores."""

from __future__ import annotations

import pytest
import torch

from eval.experiments.gate.supervised_mix import cross_validated, standardized
from eval.metrics.retrieval_metrics import auc


def talks(count: int) -> tuple[list[torch.Tensor], list[list[bool]]]:
    generator = torch.Generator().manual_seed(0)
    signals = [torch.randn(200, 3, generator=generator, dtype=torch.float64) for _ in range(count)]
    noise = [torch.randn(200, generator=generator, dtype=torch.float64) for _ in range(count)]
    needed = [(own[:, 0] - own[:, 2] + 0.3 * n > 0).tolist() for own, n in zip(signals, noise, strict=True)]
    return signals, needed


def test_it_finds_the_mix() -> None:
    signals, needed = talks(4)
    scores = cross_validated(signals, needed, [True, False, True, False])
    assert all(auc(own.tolist(), labels) > 0.95 for own, labels in zip(scores, needed, strict=True))


def test_own_labels_do_not_count() -> None:
    signals, needed = talks(3)
    even = [True, False, True]
    before = cross_validated(signals, needed, even)
    flipped = [[not need for need in needed[0]], [not need for need in needed[1]], needed[2]]
    after = cross_validated(signals, flipped, even)
    assert torch.equal(before[0], after[0]), "the first talk is scored by the third alone"
    assert not torch.allclose(before[2], after[2]), "and the third by the first"
    with pytest.raises(ValueError, match="two talks"):
        cross_validated(signals, needed, [True, False, False])


def test_signals_are_standardized_within_the_talk() -> None:
    values = standardized([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    assert values[:, 0].mean() == 0 and values[:, 0].std(unbiased=False) == pytest.approx(1)
    assert torch.equal(values[:, 1], torch.zeros(3, dtype=torch.float64))
