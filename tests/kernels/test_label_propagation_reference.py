"""`label_propagation` against the same rounds in plain Python, node by node."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from torch import Tensor

from nscma_kernels import label_propagation
from tests.kernels.label_graphs import dense, gnm

MASK = 2**64 - 1


def mix(x: int) -> int:
    x &= MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def signed(x: int) -> int:
    return x - 2**64 if x >> 63 else x


def in_plain_python(matrix: Tensor, ids: list[int], labels: list[int], look: set[int], rounds: int) -> list[int]:
    """The rounds as the docstring tells them, node by node."""
    near = [{v: int(w) for v, w in enumerate(row) if w} for row in matrix.tolist()]
    code = {label: 1 + i for i, label in enumerate(sorted(set(labels), key=lambda label: signed(mix(label))))}
    labels = list(labels)
    for turn in range(rounds):
        moves: dict[int, int] = {}
        for u in look:
            seen: Counter[int] = Counter()
            for v, w in near[u].items():
                seen[labels[v]] += w
            if seen and seen[labels[u]] < max(seen.values()):
                odd = mix(ids[u]) & 0x7FFFFFFF | 1
                best = [label for label, w in seen.items() if w == max(seen.values())]
                moves[u] = min(best, key=lambda label: (code[label] - code[labels[u]]) * odd % 2**29)
        rank = {u: signed(mix(mix(ids[u]) + (turn + 1) * 0x9E3779B97F4A7C15 % 2**63)) for u in moves}
        stopped = {
            u
            for u in moves
            for v in near[u].keys() & moves
            if (moves[u] == labels[v] or moves[v] == labels[u]) and rank[v] > rank[u]
        }
        look = set(stopped)
        free = moves.keys() - stopped
        for u in free:
            labels[u] = moves[u]
        for u in free:
            look |= {v for v in near[u] if labels[v] != labels[u]}
        if not look:
            break
    return labels


@pytest.mark.parametrize("heaviest", [0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_equals_plain_python(seed: int, heaviest: float) -> None:
    n = 5 + 9 * seed
    edges, weight = gnm(n, n * (1 + seed), seed, heaviest)
    matrix, everyone = dense(edges, weight, n), set(range(n))
    for rounds in (1, 2, 1000):
        truth = in_plain_python(matrix, list(range(n)), list(range(n)), everyone, rounds)
        assert label_propagation(edges, weight, n, max_rounds=rounds).tolist() == truth
    chance = random.Random(seed)
    ids, labels = chance.sample(range(-(10**12), 10**12), n), [chance.randrange(-3, 3) for _ in range(n)]
    frontier = chance.sample(range(n), n // 2)
    truth = in_plain_python(matrix, ids, labels, set(frontier), 1000)
    given = {"labels": torch.tensor(labels), "ids": torch.tensor(ids)}
    assert label_propagation(edges, weight, n, frontier=torch.tensor(frontier), **given).tolist() == truth
    mask = torch.zeros(n, dtype=torch.bool).index_fill_(0, torch.tensor(frontier), True)
    assert label_propagation(edges, weight, n, frontier=mask, **given).tolist() == truth


@pytest.mark.parametrize("heaviest", [0, 1.0])
def test_equals_plain_python_around_hubs(heaviest: float) -> None:
    """Nodes of more than 128 neighbours take another path."""
    n = 400
    rim = torch.arange(2, n)
    spokes = torch.cat([torch.stack([rim * 0, rim]), torch.stack([rim * 0 + 1, rim])[:, :200]], dim=1)
    edges = torch.cat([spokes, gnm(n, 700, 5)[0]], dim=1)
    weight = torch.rand(edges.shape[1], generator=torch.Generator().manual_seed(1)) if heaviest else None
    labels = torch.arange(n) % 90
    truth = in_plain_python(dense(edges, weight, n), list(range(n)), labels.tolist(), set(range(n)), 1000)
    assert label_propagation(edges, weight, n, labels=labels).tolist() == truth
