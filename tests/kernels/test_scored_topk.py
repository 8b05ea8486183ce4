"""`scored_topk` against a full sort, and the order of ties."""

from __future__ import annotations

import pytest
import torch

from nscma_kernels import scored_topk

SHAPES = [(1, 1, 1, 1), (1, 41, 7, 5), (3, 401, 384, 64), (7, 1271, 96, 1271), (2, 5, 3, 9)]  # Q, N, D, k


@pytest.mark.parametrize(("q", "n", "d", "k"), SHAPES)
def test_equals_full_sort(q: int, n: int, d: int, k: int) -> None:
    generator = torch.Generator().manual_seed(n)
    queries, vectors = torch.randn(q, d, generator=generator), torch.randn(n, d, generator=generator)
    bias, mask = torch.randn(n, generator=generator), torch.rand(n, generator=generator) > 0.3
    scores, index = scored_topk(queries, vectors, bias, k, mask)
    full = (queries.double() @ vectors.double().T + bias.double()).masked_fill(~mask, -torch.inf)
    truth = full.sort(dim=1, descending=True).values[:, :k]
    plain = (queries @ vectors.T + bias).masked_fill(~mask, -torch.inf).sort(dim=1, descending=True).values[:, :k]
    finite = truth.isfinite()
    assert torch.equal(finite, scores.isfinite())
    allowed = (plain.double() - truth)[finite].abs().max() if finite.any() else torch.tensor(0.0)
    assert (scores.double() - truth)[finite].abs().sum() <= (allowed + 1e-5) * finite.sum()
    assert torch.equal(scores[finite], full.float().gather(1, index)[finite]) or torch.allclose(
        scores[finite].double(), full.gather(1, index)[finite], atol=float(allowed) + 1e-5
    )


def test_ties_come_by_index() -> None:
    vectors = torch.ones(50, 4)
    scores, index = scored_topk(torch.ones(2, 4), vectors, torch.zeros(50), 50)
    assert index.tolist() == [list(range(50))] * 2
    assert scores.unique().tolist() == [4.0]


def test_masked_places_are_minus_infinity() -> None:
    mask = torch.tensor([False, True, False])
    scores, index = scored_topk(torch.ones(1, 2), torch.ones(3, 2), torch.zeros(3), 3, mask)
    assert scores[0].tolist() == [2.0, -torch.inf, -torch.inf]
    assert index[0, 0] == 1


def test_bias_per_query() -> None:
    bias = torch.tensor([[0.0, 5.0], [5.0, 0.0]])
    assert scored_topk(torch.ones(2, 3), torch.ones(2, 3), bias, 1)[1].tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("queries", "vectors", "bias", "k"),
    [
        (torch.ones(3), torch.ones(2, 3), torch.ones(2), 1),
        (torch.ones(1, 3), torch.ones(2, 4), torch.ones(2), 1),
        (torch.ones(1, 3), torch.ones(2, 3), torch.ones(3), 1),
        (torch.ones(1, 3), torch.ones(2, 3), torch.ones(2), 0),
    ],
)
def test_wrong_shapes_are_refused(queries: torch.Tensor, vectors: torch.Tensor, bias: torch.Tensor, k: int) -> None:
    with pytest.raises(ValueError, match=r"expected|must be"):
        scored_topk(queries, vectors, bias, k)
