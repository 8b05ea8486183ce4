"""How lanes become one score."""

from __future__ import annotations

import torch

from nscma_torch.search.fusion import FUSIONS, reciprocal_rank, relative, total
from nscma_torch.search.search import best

LANES = torch.tensor([[3.0, 0.0, 1.5, 0.0], [0.2, 0.8, 0.0, 0.0]])
EVEN = (1.0, 1.0)


def test_relative() -> None:
    assert torch.allclose(relative(LANES, EVEN), torch.tensor([(1 + 0.25) / 2, 0.5, 0.25, 0.0]))
    assert relative(torch.zeros(2, 3), EVEN).tolist() == [0, 0, 0]


def test_reciprocal_rank() -> None:
    expected = torch.tensor([1 / 61 + 1 / 62, 1 / 61, 1 / 62, 0.0])
    assert torch.allclose(reciprocal_rank(LANES, EVEN), expected)
    assert reciprocal_rank(torch.zeros(2, 3), EVEN).tolist() == [0, 0, 0]


def test_a_lane_counts_by_its_weight() -> None:
    assert torch.allclose(relative(LANES, (0.5, 1.5)), torch.tensor([(1 + 3 * 0.25) / 4, 0.75, 0.125, 0.0]))
    assert torch.allclose(reciprocal_rank(LANES, (0.0, 2.0)), torch.tensor([2 / 62, 2 / 61, 0.0, 0.0]))


def test_what_no_lane_found_scores_nothing() -> None:
    for fusion in FUSIONS.values():
        scores = fusion(LANES, EVEN)
        assert scores[3] == 0 and bool((scores[:3] > 0).all())


def test_the_sum_of_one_lane_is_its_score() -> None:
    assert torch.equal(total(LANES[:1] - 1, (1.0,)), LANES[0] - 1)
    assert torch.allclose(total(LANES, (0.5, 1.5)), torch.tensor([0.5 * 3 + 1.5 * 0.2, 1.5 * 0.8, 0.5 * 1.5, 0.0]))


def test_best_orders_ties_by_row_and_drops_the_rest() -> None:
    lost = -torch.inf
    scores = torch.tensor([0.5, lost, 1.0, 0.5, -1.0, 0.5])
    assert best(scores, 10).tolist() == [2, 0, 3, 5, 4]
    assert best(scores, 2).tolist() == [2, 0]
    same = torch.full((4001,), 0.5)
    assert best(same, 7).tolist() == list(range(7)), "which of many equal scores are taken is not left open"
    assert best(torch.empty(0), 3).tolist() == []
