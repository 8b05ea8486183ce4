"""`undirected` against a dictionary of edges, and `unpack` of what PyG passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from nscma_kernels.graph import CSR, undirected, unpack


def check(csr: CSR, edges: dict[tuple[int, int], float], n: int) -> None:
    """Every slot of every edge, in order, with its weight and its reverse."""
    slots = sorted({(u, v) for edge in edges for u, v in (edge, edge[::-1])})
    assert list(zip(csr.row.tolist(), csr.col.tolist(), strict=True)) == slots
    assert csr.weight.tolist() == [edges[min(u, v), max(u, v)] for u, v in slots]
    assert [slots[back] for back in csr.reverse.tolist()] == [(v, u) for u, v in slots]
    assert csr.num_nodes == n
    assert csr.degree.tolist() == [sum(u == node for u, _ in slots) for node in range(n)]
    for node in range(n):
        begin, end = csr.rowptr[node : node + 2].tolist()
        assert [u for u, _ in slots[begin:end]] == [node] * (end - begin)
    assert csr.rowptr[-1] == len(slots)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_equals_a_dictionary(seed: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(seed)
    n, size = 1 + seed, 4 * seed
    edge_index = torch.randint(0, n, (2, size), generator=generator).to(dtype)
    weight = torch.randn(size, generator=generator)
    edges: dict[tuple[int, int], float] = {}
    for (u, v), w in zip(edge_index.T.tolist(), weight.tolist(), strict=True):
        if u != v:
            key = min(u, v), max(u, v)
            edges[key] = max(w, edges.get(key, w))
    check(undirected(edge_index, weight, n), edges, n)
    check(undirected(edge_index.flip(0), weight, n), edges, n)
    both = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    check(undirected(both, torch.cat([weight, weight]), n), edges, n)
    check(undirected(edge_index, None, n + 3), dict.fromkeys(edges, 1.0), n + 3)


def test_slots_come_out_as_they_went_in() -> None:
    first = undirected(torch.tensor([[3, 0, 2], [1, 3, 0]]), torch.tensor([0.5, 2.0, -1.0]))
    again = undirected(torch.stack([first.row, first.col]), first.weight)
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
    assert first.row.dtype == first.rowptr.dtype == first.reverse.dtype == torch.int64


def test_nodes_are_counted_from_the_edges_unless_told() -> None:
    assert undirected(torch.tensor([[0], [4]])).num_nodes == 5
    assert undirected(torch.tensor([[6], [6]])).num_nodes == 7
    assert undirected(torch.tensor([[0], [4]]), num_nodes=9).degree.tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("n", [0, 1, 3, None])
def test_no_edges(n: int | None) -> None:
    csr = undirected(torch.zeros(2, 0, dtype=torch.int64), num_nodes=n)
    check(csr, {}, n or 0)
    assert csr.weight.dtype == torch.float32


def test_weights_keep_their_dtype() -> None:
    csr = undirected(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 3.0], dtype=torch.float64))
    assert csr.weight.dtype == torch.float64
    assert csr.weight.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("edge_index", "weight", "n", "message"),
    [
        (torch.tensor([0, 1]), None, None, "must be"),
        (torch.zeros(3, 2, dtype=torch.int64), None, None, "must be"),
        (torch.zeros(2, 2), None, None, "must be"),
        (torch.zeros(2, 2, dtype=torch.int64), torch.ones(3), None, "edge_weight must be"),
        (torch.zeros(2, 1, dtype=torch.int64), torch.ones(1, 1), None, "edge_weight must be"),
        (torch.tensor([[0], [1]]), torch.tensor([float("nan")]), None, "NaN or infinity"),
        (torch.tensor([[0], [1]]), torch.tensor([float("inf")]), None, "NaN or infinity"),
        (torch.tensor([[0], [3]]), None, 3, "outside"),
        (torch.tensor([[0], [-1]]), None, None, "outside"),
        (torch.tensor([[0], [-1]]), None, 5, "outside"),
    ],
)
def test_what_is_no_graph_is_refused(edge_index: Tensor, weight: Tensor | None, n: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        undirected(edge_index, weight, n)


EDGES, WEIGHT, BATCH = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 2.0]), torch.tensor([0, 0])


def test_a_tensor_is_passed_on() -> None:
    assert unpack(EDGES, WEIGHT, 2, BATCH) == (EDGES, WEIGHT, 2, BATCH)
    assert unpack(EDGES, None, None, None) == (EDGES, None, None, None)


def test_an_object_gives_what_it_holds_and_arguments_win() -> None:
    held = SimpleNamespace(edge_index=EDGES, edge_weight=WEIGHT, num_nodes=4, batch=BATCH)
    assert unpack(held, None, None, None) == (EDGES, WEIGHT, 4, BATCH)
    other, graphs = torch.ones(2), torch.tensor([0, 1])
    assert unpack(held, other, 7, graphs) == (EDGES, other, 7, graphs)
    bare = SimpleNamespace(edge_index=EDGES, num_nodes=2)
    assert unpack(bare, None, None, None) == (EDGES, None, 2, None)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_data_and_batches_of_pyg() -> None:
    from torch_geometric.data import Batch, Data

    data = Data(edge_index=EDGES, edge_weight=WEIGHT, num_nodes=3)
    edge_index, weight, n, batch = unpack(data, None, None, None)
    assert torch.equal(edge_index, EDGES)
    assert weight is not None
    assert torch.equal(weight, WEIGHT)
    assert (n, batch) == (3, None)
    edge_index, weight, n, batch = unpack(Batch.from_data_list([data, data]), None, None, None)
    assert edge_index.tolist() == [[0, 1, 3, 4], [1, 0, 4, 3]]
    assert weight is not None
    assert weight.tolist() == [2.0] * 4
    assert n == 6
    assert batch is not None
    assert batch.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("graph", [None, [[0], [1]], SimpleNamespace(), SimpleNamespace(edge_index=None)])
def test_anything_else_is_refused(graph: Any) -> None:
    with pytest.raises(TypeError, match="PyG Data or Batch"):
        unpack(graph, None, None, None)
