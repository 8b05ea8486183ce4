"""`knn_graph` against a double loop in float64: edges, their order and their weights, exactly."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nscma_kernels.knn_graph import EPSILON, knn_graph

MODULE = importlib.import_module("nscma_kernels.knn_graph")
CASES = range(40)


def double_loop(
    x: Tensor,
    k: int,
    gamma: float = 0.0,
    alpha: float = 1.0,
    sigma: float = 1.0,
    position: Tensor | None = None,
    stream: Tensor | None = None,
    batch: Tensor | None = None,
    start: int = 0,
) -> tuple[Tensor, Tensor]:
    rows = x.double().tolist()
    norms = [math.sqrt(math.fsum(v * v for v in row)) or 1.0 for row in rows]
    edges: dict[tuple[int, int], float] = {}
    for i in range(start, len(rows)):
        found = []
        for j in range(len(rows)):
            if i == j or (batch is not None and batch[i] != batch[j]):
                continue
            s = alpha * (math.fsum(a * b for a, b in zip(rows[i], rows[j], strict=True)) / (norms[i] * norms[j]))
            if position is not None and stream is not None and stream[i] == stream[j]:
                term = (1 - alpha) * math.exp(-(int(position[i] - position[j]) ** 2) / (2 * sigma**2))
                s += term if term >= EPSILON else 0.0
            rounded = torch.tensor(s, dtype=torch.float64).float()
            if rounded > gamma:
                found.append((-float(rounded), j))
        for negative, j in sorted(found)[:k]:
            edges[i, j] = edges[j, i] = -negative
    slots = sorted(edges)
    return torch.tensor(slots, dtype=torch.int64).reshape(-1, 2).T, torch.tensor([edges[slot] for slot in slots])


def case(seed: int) -> tuple[Tensor, int, dict[str, Any]]:
    """Odd sizes, integer vectors full of ties or real ones, a zero row and a duplicate, streams, graphs, new rows."""
    generator = torch.Generator().manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high, (1,), generator=generator))

    n, d, k = number(2, 61), number(1, 18), number(1, 80 if seed % 5 == 0 else 9)
    x = torch.randn(n, d, generator=generator)
    if seed % 2:
        x = torch.randint(-1, 3, (n, d), generator=generator).float()
    x[number(0, n)] = 0
    x[number(0, n)] = x[0]
    options: dict[str, Any] = {"gamma": (0.0, -0.5, 0.3)[number(0, 3)]}
    if seed % 3:
        options["alpha"] = 0.0 if seed % 11 == 1 else (0.3, 0.7)[number(0, 2)]
        options["sigma"] = (0.5, 1.0, 4.0)[number(0, 3)]
        options["position"] = torch.randint(-20, 20, (n,), generator=generator)
        options["stream"] = torch.randint(0, 3, (n,), generator=generator)
    if seed % 4 == 0:
        options["batch"] = torch.randint(0, 4, (n,), generator=generator)
    if seed % 7 == 3:
        options["start"] = number(0, n + 1)
    return x, k, options


def assert_same(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> None:
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])


@pytest.mark.parametrize("seed", CASES)
def test_equals_a_double_loop(seed: int) -> None:
    x, k, options = case(seed)
    assert_same(knn_graph(x, k, **options), double_loop(x, k, **options))


@pytest.mark.parametrize("seed", CASES)
def test_equals_a_double_loop_in_small_tiles_and_bfloat16(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "STRIPE", 70)
    monkeypatch.setattr(MODULE, "PAIRS", 13)
    monkeypatch.setattr(MODULE, "WORTHWHILE", 1)
    monkeypatch.setattr(MODULE, "native_dtype", lambda _: torch.bfloat16)
    near, dtypes = MODULE.near_candidates, []

    def blocks_of_three(self: Any, choosers: Tensor, fewest: int, stripes: Any = MODULE.Scores.stripes) -> Any:
        return stripes(self, choosers, 3)

    def noted(*arguments: Any) -> Any:
        dtypes.append(arguments[-1])
        return near(*arguments)

    monkeypatch.setattr(MODULE.Scores, "stripes", blocks_of_three)
    monkeypatch.setattr(MODULE, "near_candidates", noted)
    x, k, options = case(seed)
    assert_same(knn_graph(x, k, **options), double_loop(x, k, **options))
    assert dtypes[-1] == torch.float32
    assert torch.bfloat16 in dtypes or options.get("start", 0) == len(x)


@pytest.mark.parametrize("crowd", [0, 3])
@pytest.mark.parametrize("seed", range(12))
def test_crowded_rows_are_compared_with_all(seed: int, crowd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "crowd", lambda _: crowd)
    x, k, options = case(seed)
    assert_same(knn_graph(x, k, **options), double_loop(x, k, **options))


@pytest.mark.parametrize(("n", "d", "k"), [(401, 384, 10), (1271, 41, 33), (257, 1, 5)])
def test_weights_err_no_more_than_plain_torch(n: int, d: int, k: int) -> None:
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(n))
    edge_index, weight = knn_graph(x, k)
    truth = torch.nn.functional.normalize(x.double(), dim=1)
    truth = truth @ truth.T
    plain = torch.nn.functional.normalize(x, dim=1)
    plain_error = ((plain @ plain.T).double() - truth).abs().max()
    at = truth[edge_index[0], edge_index[1]]
    assert (weight.double() - at).abs().max() <= plain_error + 1e-5
    kth = truth.fill_diagonal_(-2).topk(k).values[:, -1]
    assert bool((at >= torch.minimum(kth[edge_index[0]], kth[edge_index[1]]) - 1e-6).all())


def test_equal_scores_go_to_the_smaller_index() -> None:
    edge_index, weight = knn_graph(torch.ones(300, 5), 3)
    chosen = {(i, j) for i in range(300) for j in [c for c in range(4) if c != i][:3]}
    assert set(map(tuple, edge_index.T.tolist())) == chosen | {(j, i) for i, j in chosen}
    assert weight.unique().tolist() == [1.0]


def test_rows_close_together_are_told_apart() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.ones(200, 16) + 1e-3 * torch.randn(200, 16, generator=generator)
    assert_same(knn_graph(x, 4), double_loop(x, 4))


def test_zero_rows_have_no_cosine() -> None:
    x = torch.zeros(5, 3)
    x[0, 0] = x[1, 0] = 1
    assert knn_graph(x, 4)[0].tolist() == [[0, 1], [1, 0]]
    edge_index, weight = knn_graph(x, 1, gamma=-0.1)
    assert edge_index.tolist() == [[0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0]]
    assert weight.tolist() == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 0), (0, 0)])
def test_no_pairs_no_edges(shape: tuple[int, int]) -> None:
    where = {"position": torch.zeros(shape[0], dtype=torch.int64), "stream": torch.arange(shape[0])}
    for options in ({}, {"alpha": 0.5, **where}, {"batch": torch.zeros(shape[0], dtype=torch.int64)}):
        edge_index, weight = knn_graph(torch.ones(shape), 3, **options)  # type: ignore[arg-type]
        assert edge_index.shape == (2, 0)
        assert edge_index.dtype == torch.int64
        assert weight.shape == (0,)
        assert weight.dtype == torch.float32


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_the_second_term_is_zero_outside_its_band(sigma: float) -> None:
    n, alpha = 80, 0.25
    position = torch.arange(n) - 7
    stream = (torch.arange(n) >= 40).long()
    edge_index, weight = knn_graph(torch.zeros(n, 2), n, alpha=alpha, sigma=sigma, position=position, stream=stream)
    apart = (edge_index[0] - edge_index[1]).abs()
    width = int(sigma * math.sqrt(2 * math.log((1 - alpha) / EPSILON)))
    assert int(apart.max()) == width
    assert bool((stream[edge_index[0]] == stream[edge_index[1]]).all())
    inside = sum(min(width, 39 - i) for i in range(40))
    assert edge_index.shape[1] == 2 * 2 * inside
    torch.testing.assert_close(weight, 0.75 * torch.exp(-(apart.float() ** 2) / (2 * sigma**2)), rtol=1e-6, atol=0)


def test_positions_far_apart_or_shared() -> None:
    position = torch.tensor([0, 2**60, 3, 3, -(2**60), 2**60 + 1])
    stream = torch.zeros(6, dtype=torch.int64)
    edge_index, _ = knn_graph(torch.zeros(6, 1), 5, alpha=0.5, position=position, stream=stream)
    assert edge_index.tolist() == [[0, 0, 1, 2, 2, 3, 3, 5], [2, 3, 5, 0, 3, 0, 2, 1]]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_batch_equals_its_graphs_one_by_one(ordered: bool) -> None:
    generator = torch.Generator().manual_seed(5)
    n = 331
    x = torch.randn(n, 24, generator=generator)
    batch = torch.randint(0, 9, (n,), generator=generator)
    batch = batch.sort().values if ordered else batch
    where = {"position": torch.randint(0, 50, (n,), generator=generator), "stream": torch.arange(n) % 4}
    edge_index, weight = knn_graph(x, 4, alpha=0.6, batch=batch, **where)  # type: ignore[arg-type]
    for graph in range(9):
        nodes = (batch == graph).nonzero()[:, 0]
        there = {name: numbers[nodes] for name, numbers in where.items()}
        alone, alone_weight = knn_graph(x[nodes], 4, alpha=0.6, **there)  # type: ignore[arg-type]
        mine = batch[edge_index[0]] == graph
        assert torch.equal(edge_index[:, mine], nodes[alone])
        assert torch.equal(weight[mine], alone_weight)


@pytest.mark.parametrize("start", [0, 1, 380, 400, 401])
def test_new_rows_choose_as_they_do_among_all(start: int) -> None:
    n, k = 401, 6
    x = torch.randn(n, 32, generator=torch.Generator().manual_seed(9))
    edge_index, weight = knn_graph(x, k, gamma=-1.0)
    chosen = set()
    for i in range(start, n):  # the k best of a row's edges are those that it chose
        mine = edge_index[0] == i
        best = sorted(zip((-weight[mine]).tolist(), edge_index[1][mine].tolist(), strict=True))[:k]
        chosen |= {(i, j, -s) for s, j in best} | {(j, i, -s) for s, j in best}
    new_index, new_weight = knn_graph(x, k, gamma=-1.0, start=start)
    assert sorted(chosen) == list(zip(*new_index.tolist(), new_weight.tolist(), strict=True))


def test_both_directions_in_order_and_the_same_for_any_order_of_rows() -> None:
    generator = torch.Generator().manual_seed(2)
    n = 500
    x = torch.randn(n, 48, generator=generator)
    edge_index, weight = knn_graph(x, 7, gamma=0.1)
    keys = edge_index[0] * n + edge_index[1]
    assert bool((keys.diff() > 0).all())
    back = torch.searchsorted(keys, edge_index[1] * n + edge_index[0])
    assert torch.equal(keys[back], edge_index[1] * n + edge_index[0])
    assert torch.equal(weight[back], weight)
    assert bool((edge_index[0] != edge_index[1]).all())
    assert bool((weight > 0.1).all())
    shuffle = torch.randperm(n, generator=generator)
    shuffled, shuffled_weight = knn_graph(x[shuffle], 7, gamma=0.1)
    there = shuffle[shuffled[0]] * n + shuffle[shuffled[1]]
    assert torch.equal(there.sort().values, keys)
    assert torch.equal(shuffled_weight[there.argsort()], weight)
    assert_same(knn_graph(8 * x, 7, gamma=0.1), (edge_index, weight))


def test_very_long_and_very_short_rows() -> None:
    x = torch.randn(60, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    x *= 10.0 ** torch.linspace(-40, 37, 60, dtype=torch.float64)[:, None]
    x[-2:] = torch.tensor([[3e38], [2e38]])  # longer than float32 can say
    assert_same(knn_graph(x.float(), 4), double_loop(x.float(), 4))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_any_float_counts_in_float32(dtype: torch.dtype) -> None:
    x = torch.randn(90, 20, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
    edge_index, weight = knn_graph(x, 3)
    assert_same((edge_index, weight), knn_graph(x.detach().float(), 3))
    assert not weight.requires_grad


def test_lower_matmul_precision_changes_nothing() -> None:
    x = torch.randn(300, 64, generator=torch.Generator().manual_seed(4))
    expected, before = knn_graph(x, 5), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert_same(knn_graph(x, 5), expected)
    finally:
        torch.set_float32_matmul_precision(before)


def test_no_tensor_of_all_pairs() -> None:
    class Largest(TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(tensor, Tensor):
                    self.elements = max(self.elements, tensor.numel())
            return result

    n = 12_000
    x = torch.randn(n, 8, generator=torch.Generator().manual_seed(6))
    where = {"position": torch.arange(n), "stream": torch.zeros(n, dtype=torch.int64)}
    with Largest() as seen:
        knn_graph(x, 3, alpha=0.7, **where)  # type: ignore[arg-type]
    assert n <= seen.elements <= 1.2 * MODULE.STRIPE < n * n / 10


GOOD: dict[str, Any] = {"x": torch.ones(4, 2), "k": 1}
NUMBERS = torch.arange(4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.ones(4)}, "x must be"),
        ({"x": torch.ones(4, 2, dtype=torch.int64)}, "x must be"),
        ({"x": torch.tensor([[1.0, math.nan]])}, "NaN or infinity"),
        ({"x": torch.tensor([[1.0, math.inf]])}, "NaN or infinity"),
        ({"k": 0}, "k must be"),
        ({"alpha": 1.1}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": math.inf}, "sigma"),
        ({"gamma": math.nan}, "gamma"),
        ({"start": 5}, "start must be"),
        ({"start": -1}, "start must be"),
        ({"alpha": 0.5}, "requires position and stream: pass both"),
        ({"alpha": 0.5, "position": NUMBERS}, "requires position and stream: pass both"),
        ({"alpha": 0.5, "stream": NUMBERS}, "requires position and stream: pass both"),
        ({"alpha": 0.5, "position": NUMBERS[:3], "stream": NUMBERS}, "position must be"),
        ({"alpha": 0.5, "position": NUMBERS, "stream": NUMBERS[:, None]}, "stream must be"),
        ({"alpha": 0.5, "position": NUMBERS.float(), "stream": NUMBERS}, "position must be"),
        ({"batch": NUMBERS[:2]}, "batch must be"),
        ({"impl": "numpy"}, "impl must be"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        knn_graph(**{**GOOD, **change})


@pytest.mark.prove
def test_five_hundred_random_graphs_and_a_large_one() -> None:
    for seed in range(1000, 1500):
        x, k, options = case(seed)
        assert_same(knn_graph(x, k, **options), double_loop(x, k, **options))
    n, d, k = 20_000, 384, 10
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(0))
    edge_index, weight = knn_graph(x, k)
    unit = torch.nn.functional.normalize(x.double(), dim=1)
    wrong = 0
    for rows in torch.split(torch.arange(n), 1000):
        s = unit[rows] @ unit.T
        s[torch.arange(len(rows)), rows] = -2
        best = s.topk(k).indices + rows[:, None] * n
        wrong += int((~torch.isin(best, edge_index[0] * n + edge_index[1])).sum())
    print(f"\nknn_graph: 500 random graphs equal a double loop in float64; n={n}: {wrong} of {n * k} choices differ")
    assert wrong == 0
    assert edge_index.shape[1] <= 2 * n * k
    assert bool((weight > 0).all())
