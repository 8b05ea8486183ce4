"""`scored_topk` equals a stable sort of all scores, computed in float64: scores and indices, bit for bit."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nscma_kernels import Filter, scored_topk

TORCH_PATH = importlib.import_module("nscma_kernels.scored_topk_torch")
SCORES = importlib.import_module("nscma_kernels.scored_topk_scores")
SCORED = importlib.import_module("nscma_kernels.scored_topk")
CASES = range(60)


def brute_force(
    queries: Tensor,
    vectors: Tensor,
    k: int,
    columns: Tensor | None = None,
    weights: Tensor | None = None,
    rows: Filter | None = None,
    longest: float | None = None,
) -> tuple[Tensor, Tensor]:
    scores = torch.zeros(len(queries), len(vectors), dtype=torch.float64)
    for i, query in enumerate(queries.double()):
        scores[i] = (vectors.double() * query).sum(1)
        if columns is not None and weights is not None:
            scores[i] += (columns.double() * weights.expand(len(queries), -1)[i].double()).sum(1)
    if vectors.dtype != torch.float64:
        scores = scores.float()
    scores[:, [j for j in range(len(vectors)) if rows is not None and not passes(rows, j)]] = -torch.inf
    scores, index = scores.sort(dim=1, descending=True, stable=True)
    scores, index = scores[:, :k], index[:, :k]
    return scores, index.masked_fill(scores == -torch.inf, -1)


def passes(rows: Filter, j: int) -> bool:
    """The filter's definition, a row at a time."""
    if rows.mask is not None and not bool(rows.mask[j]):
        return False
    if rows.flags is not None and rows.any_of is not None and not int(rows.flags[j]) & rows.any_of:
        return False
    key = [] if rows.keys is None else rows.keys[j].tolist()
    low, high = rows.low or [-math.inf] * len(key), rows.high or [math.inf] * len(key)
    return all(lowest <= value <= highest for lowest, value, highest in zip(low, key, high, strict=True))


def case(seed: int) -> tuple[Tensor, Tensor, int, dict[str, Any]]:
    """Integer vectors full of ties or real ones, rows stored twice, columns, filters, odd sizes, three dtypes."""
    generator = torch.Generator().manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high, (1,), generator=generator))

    def draw(*shape: int) -> Tensor:
        if seed % 2:
            return torch.randn(*shape, generator=generator)
        return torch.randint(-1, 2, shape, generator=generator).float()

    dtype = (torch.float32, torch.bfloat16, torch.float64)[seed % 3]
    q, n = (1, 2, 17, 64, 300)[number(0, 5)], number(0, 700)
    d, k = number(0 if seed % 10 == 0 else 1, 40), (1, 3, 10, 150, 4000)[number(0, 5)]
    queries, vectors = draw(q, d), draw(n, d)
    if n:
        vectors = vectors[torch.randint(0, max(1, n // (1 + seed % 4)), (n,), generator=generator)]
    options: dict[str, Any] = {}
    if seed % 4:
        columns = draw(n, 1 + seed % 3) * 0.1
        options["columns"] = columns if seed % 8 < 4 else columns.T.contiguous().T
        options["weights"] = draw(*((q,) if seed % 5 else ()), 1 + seed % 3)
    if seed % 7:
        share = (0.0, 0.02, 0.5, 0.95, 1.0)[number(0, 5)]
        keys = torch.randint(-20, 20, (n, 2), generator=generator)
        options["rows"] = Filter(
            mask=torch.rand(n, generator=generator) < share if seed % 5 else None,
            flags=1 << torch.randint(0, 63, (n,), generator=generator) if seed % 3 else None,
            any_of=2**62 + 2**40 - 1 if seed % 3 else None,
            keys=keys if seed % 2 else keys.T.contiguous().T,
            low=(-18, -(2**63)) if seed % 4 else None,
            high=(17, 19) if seed % 6 else None,
        )
    if n and seed % 8 == 3:
        options["longest"] = float(vectors.double().norm(dim=1).max())
    return queries, vectors.to(dtype), k, options


def assert_same(found: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> None:
    assert found[0].dtype == expected[0].dtype
    assert torch.equal(found[1], expected[1])
    assert torch.equal(found[0], expected[0])


@pytest.mark.parametrize("seed", CASES)
def test_equals_a_sort(seed: int) -> None:
    queries, vectors, k, options = case(seed)
    assert_same(scored_topk(queries, vectors, k, **options), brute_force(queries, vectors, k, **options))


@pytest.mark.parametrize("seed", CASES)
def test_equals_a_sort_in_small_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    native = (torch.bfloat16, torch.float32)[seed // 2 % 2]
    monkeypatch.setattr(TORCH_PATH, "FEWEST", 100)
    monkeypatch.setattr(TORCH_PATH, "STRIPE", 1000)
    monkeypatch.setattr(SCORES, "CACHE", 600)
    monkeypatch.setattr(TORCH_PATH, "PAIRS", 500)
    monkeypatch.setattr(TORCH_PATH, "native_dtype", lambda _: native)
    monkeypatch.setattr(SCORED, "BLOCK", 70)
    queries, vectors, k, options = case(seed)
    assert_same(scored_topk(queries, vectors, k, **options), brute_force(queries, vectors, k, **options))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("q", [1, 5, 90])
def test_equal_scores_come_by_index(q: int, dtype: torch.dtype) -> None:
    scores, index = scored_topk(torch.ones(q, 4), torch.ones(9000, 4, dtype=dtype), 50)
    assert index.tolist() == [list(range(50))] * q
    assert scores.unique().tolist() == [4.0]


@pytest.mark.parametrize("q", [1, 80])
def test_a_row_scores_the_same_wherever_it_stands(q: int) -> None:
    generator = torch.Generator().manual_seed(1)
    queries, one = torch.randn(q, 96, generator=generator), torch.randn(1, 96, generator=generator)
    vectors = torch.randn(5000, 96, generator=generator)
    places = torch.randperm(5000, generator=generator)[:40].sort().values
    vectors[places] = 3 * one
    scores, index = scored_topk(queries + 3 * one, vectors, 40)
    assert index.tolist() == [places.tolist()] * q
    assert bool((scores == scores[:, :1]).all())


@pytest.mark.parametrize("q", [1, 16, 100])
def test_near_duplicates_are_told_apart(q: int) -> None:
    """Differences far below bfloat16, and just above float32."""
    generator = torch.Generator().manual_seed(2)
    vectors = torch.ones(3000, 24) + 1e-6 * torch.randn(3000, 24, generator=generator)
    queries = torch.rand(q, 24, generator=generator)
    for stored in (vectors, vectors.bfloat16()):
        assert_same(scored_topk(queries, stored, 7), brute_force(queries, stored, 7))


@pytest.mark.parametrize("q", [1, 60])
def test_very_long_and_very_short_rows(q: int) -> None:
    generator = torch.Generator().manual_seed(3)
    vectors = torch.randn(300, 6, generator=generator, dtype=torch.float64)
    vectors = (vectors * 10.0 ** torch.linspace(-44, 37, 300, dtype=torch.float64)[:, None]).float()
    vectors[torch.randperm(300, generator=generator)[:30]] = 0
    for scale in (1e-2, 1e-30, 1e-19):
        queries = scale * torch.randn(q, 6, generator=generator)
        rows = Filter(mask=torch.rand(300, generator=generator) < 0.9)
        for k in (5, 299):
            assert_same(scored_topk(queries, vectors, k, rows=rows), brute_force(queries, vectors, k, rows=rows))
    columns = torch.tensor([3e38, 1e-40, -3e38])[torch.randint(0, 3, (300, 1), generator=generator)]
    options = {"columns": columns, "weights": torch.tensor([1e-39])}
    queries = torch.randn(q, 6, generator=generator)
    assert_same(scored_topk(queries, vectors, 9, **options), brute_force(queries, vectors, 9, **options))  # type: ignore[arg-type]


def test_recency_and_importance_are_the_episodic_score() -> None:
    """NSCMA section 3.4.1 with `now` in the weights alone."""
    generator = torch.Generator().manual_seed(4)
    n, decay, newest = 800, 0.01, 900.0
    vectors = torch.nn.functional.normalize(torch.randn(n, 32, generator=generator), dim=1)
    query = vectors[3] + 0.2 * torch.randn(32, generator=generator)
    time, importance = torch.rand(n, generator=generator) * newest, torch.rand(n, generator=generator)
    columns = torch.stack([torch.exp(decay * (time.double() - newest)).float(), importance], dim=1)
    for now in (900.0, 950.0, 2000.0):
        weights = torch.tensor([0.5 * math.exp(-decay * (now - newest)), 0.2])
        scores, index = scored_topk(query[None], vectors.bfloat16(), 20, columns=columns, weights=weights)
        truth = vectors.bfloat16().double() @ query.double() + 0.5 * torch.exp(-decay * (now - time.double()))
        truth += 0.2 * importance.double()
        best = truth.sort(descending=True)
        assert index[0].tolist() == best.indices[:20].tolist()
        torch.testing.assert_close(scores[0].double(), best.values[:20], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("q", "n", "k"), [(0, 5, 2), (3, 0, 2), (0, 0, 1), (2, 3, 9), (60, 2, 9)])
def test_nothing_to_ask_or_to_find(q: int, n: int, k: int) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        scores, index = scored_topk(torch.ones(q, 4), torch.ones(n, 4, dtype=dtype), k)
        assert scores.shape == index.shape == (q, min(k, n))
        assert index.tolist() == [list(range(min(k, n)))] * q
        assert scores.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@pytest.mark.parametrize("q", [1, 60])
def test_places_that_filters_leave_empty(q: int) -> None:
    mask = torch.zeros(100, dtype=torch.bool)
    scores, index = scored_topk(torch.ones(q, 4), torch.ones(100, 4), 3, rows=Filter(mask=mask))
    assert index.tolist() == [[-1, -1, -1]] * q
    assert scores.unique().tolist() == [-torch.inf]
    mask[[7, 80]] = True
    scores, index = scored_topk(torch.ones(q, 4), torch.ones(100, 4), 3, rows=Filter(mask=mask))
    assert index.tolist() == [[7, 80, -1]] * q
    assert scores[0].tolist() == [4.0, 4.0, -torch.inf]


def test_lower_matmul_precision_changes_nothing() -> None:
    generator = torch.Generator().manual_seed(5)
    queries, vectors = torch.randn(3, 64, generator=generator), torch.randn(4000, 64, generator=generator)
    expected, before = brute_force(queries, vectors, 9), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert_same(scored_topk(queries, vectors, 9), expected)
    finally:
        torch.set_float32_matmul_precision(before)


def test_no_gradient_and_no_tensor_of_all_pairs() -> None:
    class Largest(TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(tensor, Tensor):
                    self.elements = max(self.elements, tensor.numel())
            return result

    q, n = 500, 60_000
    generator = torch.Generator().manual_seed(6)
    queries = torch.randn(q, 8, generator=generator).requires_grad_()
    vectors = torch.randn(n, 8, generator=generator)
    with Largest() as seen:
        scores, _ = scored_topk(queries, vectors, 3)
    assert not scores.requires_grad
    assert n <= seen.elements <= 1.1 * TORCH_PATH.STRIPE < q * n / 5


GOOD: dict[str, Any] = {"queries": torch.ones(2, 3), "vectors": torch.ones(4, 3), "k": 1}
KEYS = torch.zeros(4, 2, dtype=torch.int64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": torch.ones(3)}, "queries .* expected"),
        ({"vectors": torch.ones(4, 2)}, "queries .* expected"),
        ({"vectors": torch.ones(4, 3, dtype=torch.float16)}, "convert them"),
        ({"queries": torch.ones(2, 3, dtype=torch.int64)}, "convert them"),
        ({"queries": torch.ones(2, 3).double()}, r"pass queries.float\(\)"),
        ({"queries": torch.tensor([[1.0, math.nan, 1.0]])}, "queries and weights must be finite"),
        ({"queries": torch.tensor([[1.0, math.inf, 1.0]])}, "queries and weights must be finite"),
        ({"vectors": torch.tensor([[1.0, math.nan, 1.0]])}, "vectors must be finite"),
        ({"vectors": torch.tensor([[1.0, -math.inf, 1.0]])}, "vectors must be finite"),
        ({"k": 0}, "k must be at least 1"),
        ({"columns": torch.ones(4, 1)}, "pass both or neither"),
        ({"weights": torch.ones(1)}, "pass both or neither"),
        ({"columns": torch.ones(3, 1), "weights": torch.ones(1)}, "columns must be"),
        ({"columns": torch.ones(4, 1).double(), "weights": torch.ones(1)}, "columns must be"),
        ({"columns": torch.full((4, 1), math.nan), "weights": torch.ones(1)}, "columns must be finite"),
        ({"columns": torch.ones(4, 1), "weights": torch.ones(2)}, "weights must be"),
        ({"columns": torch.ones(4, 1), "weights": torch.ones(3, 1)}, "weights must be"),
        ({"columns": torch.ones(4, 1), "weights": torch.tensor([math.inf])}, "queries and weights must be finite"),
        ({"longest": -1.0}, "longest must be"),
        ({"longest": math.nan}, "longest must be"),
        ({"rows": Filter(mask=torch.ones(3, dtype=torch.bool))}, r"rows.mask must be \[4\]"),
        ({"rows": Filter(mask=torch.ones(4))}, "rows.mask must be"),
        ({"rows": Filter(flags=KEYS[:, 0])}, "pass both or neither"),
        ({"rows": Filter(any_of=1)}, "pass both or neither"),
        ({"rows": Filter(flags=KEYS[:, 0].int(), any_of=1)}, "rows.flags must be"),
        ({"rows": Filter(flags=KEYS[:, 0], any_of=2**64)}, "64 bits"),
        ({"rows": Filter(low=(1, 2))}, "pass keys too"),
        ({"rows": Filter(keys=KEYS[:3])}, "rows.keys must be"),
        ({"rows": Filter(keys=KEYS.float())}, "rows.keys must be"),
        ({"rows": Filter(keys=KEYS, low=(1,))}, "a bound for each of 2 keys"),
        ({"rows": Filter(keys=KEYS, high=(1, 2**63))}, "64-bit"),
        ({"impl": "numpy"}, "impl must be"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scored_topk(**{**GOOD, **change})


def test_a_mask_goes_in_as_a_filter() -> None:
    with pytest.raises(TypeError, match="Filter"):
        scored_topk(**{**GOOD, "rows": torch.ones(4, dtype=torch.bool)})


@pytest.mark.parametrize(("dtype", "large"), [(torch.float32, 1e20), (torch.float64, 1e160)])
def test_scores_beyond_their_dtype_are_refused(dtype: torch.dtype, large: float) -> None:
    with pytest.raises(ValueError, match=r"scale|1e150"):
        scored_topk(torch.full((1, 2), large, dtype=dtype), torch.full((3, 2), large, dtype=dtype), 1)


@pytest.mark.prove
def test_a_thousand_random_shapes_and_a_large_one() -> None:
    filtered = queries_asked = 0
    for seed in range(1000, 2000):
        queries, vectors, k, options = case(seed)
        assert_same(scored_topk(queries, vectors, k, **options), brute_force(queries, vectors, k, **options))
        filtered += "rows" in options
        queries_asked += len(queries)
    generator = torch.Generator().manual_seed(0)
    n, d, k = 100_000, 384, 10
    large = torch.nn.functional.normalize(torch.randn(n, d, generator=generator), dim=1)
    large[n // 2 :] = large[torch.randint(0, n // 2, (n - n // 2,), generator=generator)]  # half are stored again
    asked = torch.nn.functional.normalize(torch.randn(64, d, generator=generator), dim=1)
    columns, weights = torch.rand(n, 2, generator=generator).round(decimals=1), torch.tensor([0.2, 0.1])
    for q, stored in ((1, large), (64, large), (16, large.bfloat16()), (64, large.bfloat16())):
        options = {"columns": columns, "weights": weights, "longest": 1.01}
        found = scored_topk(asked[:q], stored, k, **options)
        assert_same(found, brute_force(asked[:q], stored, k, **options))
    print(
        f"\nscored_topk: 1,000 random shapes ({queries_asked:,} queries, {filtered} with filters; float32, bfloat16, "
        f"float64) and {n:,} x {d} with each second row stored again equal a stable sort in float64, bit for bit"
    )


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_lengths_are_measured_once_and_again_after_a_change(mode: Any) -> None:
    """A row that becomes long would be lost within the error that was bounded for short ones."""

    class Lengths(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten.linalg_vector_norm.default and len(args[0]) > 1:
                found.append(len(args[0]))
            return func(*args, **(kwargs or {}))

    found: list[int] = []
    query = torch.ones(1, 3)
    with mode():
        vectors = torch.full((900, 3), 0.1)
        for times in (1, 1, 1) if mode is torch.no_grad else (1, 2, 3):
            with Lengths():
                scored_topk(query, vectors, 1)
            assert found == [900] * times
        vectors[7] = torch.tensor([1e8, 1.0, -1e8])  # 0 in float32
        scores, index = scored_topk(query, vectors, 1)
        assert (float(scores), int(index)) == (1.0, 7)
        vectors[7, 0] = math.nan
        with pytest.raises(ValueError, match="finite"):
            scored_topk(query, vectors, 1)
