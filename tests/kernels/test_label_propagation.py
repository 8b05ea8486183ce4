"""`label_propagation` keeps its promises: monotone, locally maximal, independent of order."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest
import torch

from nscma_kernels import label_propagation
from nscma_kernels.graph import undirected
from tests.kernels.label_graphs import dense, gnm, locally_maximal, planted, potential

# the package exports the function of the same name
_MODULE = importlib.import_module("nscma_kernels.label_propagation")
tiles_of, mix, priority, salt = _MODULE.tiles_of, _MODULE.mix, _MODULE.priority, _MODULE.salt


@pytest.mark.parametrize(("n", "m", "heaviest"), [(60, 90, 0), (200, 1500, 0), (200, 900, 2.0), (300, 4000, 1e-4)])
def test_never_falls_and_ends_locally_maximal(n: int, m: int, heaviest: float) -> None:
    edges, weight = gnm(n, m, n + m, heaviest)
    matrix, before = dense(edges, weight, n), 0.0
    final = label_propagation(edges, weight, n)
    assert locally_maximal(matrix, final)
    for rounds in range(1, 200):
        labels = label_propagation(edges, weight, n, max_rounds=rounds)
        now = potential(matrix, labels)
        assert now > before or torch.equal(labels, final)
        before = now
        if torch.equal(labels, final):
            break
    assert torch.equal(labels, final)


@pytest.mark.parametrize(("left", "right"), [(1, 1), (2, 2), (3, 50), (17, 19), (100, 100), (129, 140)])
def test_complete_bipartite_graphs_converge(left: int, right: int) -> None:
    edges = torch.cartesian_prod(torch.arange(left), torch.arange(left, left + right)).T
    for labels in (None, torch.arange(left + right) // left):  # the second flips for ever where all move at once
        found = label_propagation(edges, labels=labels)
        assert locally_maximal(dense(edges, None, left + right), found)
        assert len(found.unique()) == 1 or left < 100


@pytest.mark.parametrize("heaviest", [0, 1.0])
def test_order_of_nodes_and_edges_does_not_matter(heaviest: float) -> None:
    n = 500
    edges, weight = gnm(n, 3000, 3, heaviest)
    edges = torch.cat([edges, torch.stack([torch.zeros(300, dtype=torch.int64), torch.arange(100, 400)])], dim=1)
    weight = None if weight is None else torch.cat([weight, torch.full((300,), 0.01)])
    generator = torch.Generator().manual_seed(4)
    labels, ids = torch.randint(50, (n,), generator=generator), torch.randperm(n, generator=generator)
    for given in ({"ids": ids}, {"ids": ids, "labels": labels}):
        truth = label_propagation(edges, weight, n, **given)
        assert torch.equal(truth, label_propagation(edges, weight, n, **given))
        for seed in range(5):
            generator = torch.Generator().manual_seed(seed)
            name, turn = torch.randperm(n, generator=generator), torch.randperm(edges.shape[1], generator=generator)
            moved = {key: torch.empty_like(value).scatter_(0, name, value) for key, value in given.items()}
            again = label_propagation(name[edges[:, turn]], None if weight is None else weight[turn], n, **moved)
            assert torch.equal(again[name], truth)


def test_edges_in_one_direction_in_both_or_twice_and_loops() -> None:
    edges, weight = gnm(80, 300, 0, 1.0)
    truth = label_propagation(edges, weight, 80)
    loops = torch.arange(80).expand(2, -1)
    doubled = torch.cat([edges, edges.flip(0), edges[:, :9], loops], dim=1)
    assert weight is not None
    assert torch.equal(label_propagation(doubled, torch.cat([weight, weight, weight[:9], torch.ones(80)]), 80), truth)


def test_small_graphs() -> None:
    nothing = torch.empty(2, 0, dtype=torch.int64)
    assert label_propagation(nothing).shape == (0,)
    assert label_propagation(nothing, num_nodes=3).tolist() == [0, 1, 2]
    assert label_propagation(nothing, num_nodes=2, ids=torch.tensor([7, -7])).tolist() == [7, -7]
    assert label_propagation(torch.tensor([[0], [0]])).tolist() == [0]
    star = torch.stack([torch.zeros(9, dtype=torch.int64), torch.arange(1, 10)])
    assert len(label_propagation(star).unique()) == 1
    assert label_propagation(star, max_rounds=0).tolist() == list(range(10))
    assert label_propagation(star, torch.zeros(9)).tolist() == list(range(10))


def test_heavier_labels_win() -> None:
    edges = torch.tensor([[0, 0, 0], [1, 2, 3]])
    labels = torch.tensor([9, 1, 2, 2])
    only = torch.tensor([0])
    assert label_propagation(edges, labels=labels, frontier=only, max_rounds=1)[0] == 2
    weight = torch.tensor([2.5, 1.0, 1.0])
    for scale in (1, 1e-3, 1e30):
        assert label_propagation(edges, weight * scale, labels=labels, frontier=only, max_rounds=1)[0] == 1
    assert label_propagation(edges, torch.tensor([0.0, 1e-20, 0.0]), labels=labels, frontier=only).tolist() == [
        2,
        1,
        2,
        2,
    ]


def test_kept_where_nothing_weighs_more() -> None:
    edges, _ = planted(400, 20, 12, 1, seed=0)
    labels = label_propagation(edges, num_nodes=400) + 10**15
    assert torch.equal(label_propagation(edges, num_nodes=400, labels=labels), labels)
    path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    assert label_propagation(path, labels=torch.tensor([5, 5, 6, 6])).tolist() == [5, 5, 6, 6]


@pytest.mark.parametrize(("n", "degree"), [(350, 129), (2700, 2500)])
def test_a_hub(n: int, degree: int) -> None:
    edges, _ = planted(n, 50, 10, 1, seed=1)
    hub = torch.stack([torch.zeros(degree, dtype=torch.int64), torch.arange(1, degree + 1)])
    edges = torch.cat([edges, hub], dim=1)
    labels = label_propagation(edges)
    assert locally_maximal(dense(edges, None, n), labels)
    assert 1 < len(labels.unique()) < n / 5


def test_after_insertions_only_what_they_reach_is_looked_at() -> None:
    n = 600
    edges, _ = planted(n, 30, 10, 2, seed=2)
    labels = label_propagation(edges, num_nodes=n)
    for seed in range(5):
        new = gnm(n, 20, seed)[0]
        edges = torch.cat([edges, new], dim=1)
        after = label_propagation(edges, num_nodes=n, labels=labels, frontier=new.flatten())
        assert locally_maximal(dense(edges, None, n), after)
        assert (after == labels).sum() > n / 2
        labels = after
    far = torch.tensor([n - 1])
    untouched = torch.randint(9, (n,), generator=torch.Generator().manual_seed(0))
    once = label_propagation(edges, num_nodes=n, labels=untouched, frontier=far, max_rounds=1)
    assert torch.equal(once[:-1], untouched[:-1])


@pytest.mark.parametrize("heaviest", [(0, 0, 0), (1.0, 1e20, 1e-3)])
def test_each_graph_of_a_batch_as_if_alone(heaviest: tuple[float, ...]) -> None:
    sizes = (40, 170, 90)
    graphs = [gnm(n, 4 * n, n, top) for n, top in zip(sizes, heaviest, strict=True)]
    alone = [label_propagation(edges, weight, n) for (edges, weight), n in zip(graphs, sizes, strict=True)]
    first = [0, 40, 210]
    edges = torch.cat([edges + start for (edges, _), start in zip(graphs, first, strict=True)], dim=1)
    weight = torch.cat([weight for _, weight in graphs if weight is not None]) if heaviest[0] else None
    batch = torch.repeat_interleave(torch.tensor([4, 7, 9]), torch.tensor(sizes))
    labels = label_propagation(edges, weight, batch=batch, num_nodes=300)
    assert torch.equal(labels, torch.cat([part + start for part, start in zip(alone, first, strict=True)]))
    data = SimpleNamespace(edge_index=edges, edge_weight=weight, num_nodes=300, batch=batch)
    assert torch.equal(label_propagation(data), labels)
    own = torch.cat([torch.arange(n) for n in sizes])
    assert torch.equal(label_propagation(data, ids=own), torch.cat(alone))
    assert torch.equal(label_propagation(data, labels=own), torch.cat(alone))


def test_graphs_of_a_batch_may_be_interleaved() -> None:
    edges = gnm(50, 120, 8)[0]
    alone = label_propagation(edges, num_nodes=50)
    both = label_propagation(torch.cat([2 * edges, 2 * edges + 1], dim=1), num_nodes=100, batch=torch.arange(100) % 2)
    assert torch.equal(both[::2], 2 * alone)
    assert torch.equal(both[1::2], 2 * alone + 1)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"edge_weight": torch.tensor([1.0, -1.0])}, "negative"),
        ({"edge_weight": torch.tensor([1.0, torch.nan])}, "NaN"),
        ({"edge_weight": torch.ones(3)}, "edge_weight must be"),
        ({"num_nodes": 2}, "outside"),
        ({"labels": torch.zeros(2, dtype=torch.int64)}, "labels must be"),
        ({"labels": torch.zeros(3)}, "labels must be"),
        ({"ids": torch.tensor([1, 1, 2])}, "distinct"),
        ({"frontier": torch.tensor([3])}, "frontier must be"),
        ({"frontier": torch.ones(2, dtype=torch.bool)}, "frontier must be"),
        ({"batch": torch.tensor([0, 0, 1])}, "two graphs"),
        ({"batch": torch.tensor([0, 0])}, "batch must be"),
        ({"max_rounds": -1}, "max_rounds"),
        ({"impl": "cuda"}, "impl must be"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        label_propagation(torch.tensor([[0, 1], [1, 2]]), **given)  # type: ignore[arg-type]


def test_only_a_graph_is_taken() -> None:
    with pytest.raises(TypeError, match="edge_index"):
        label_propagation([[0], [1]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="num_nodes="):
        label_propagation(torch.tensor([[0], [1]]), 5)


def test_few_nodes_share_a_tile_with_the_next_wider_ones() -> None:
    """A tile costs some calls in each round, whatever is in it."""
    small, _ = planted(300, 30, 10, 4, seed=0)
    large, _ = planted(20_000, 100, 10, 4, seed=0)
    found = []
    for edges, n in ((small, 300), (large, 20_000)):
        csr = undirected(edges, None, n)
        order, tiles = tiles_of(csr, None)
        found.append(len(tiles))
        ends = [tile.first + tile.neighbours.shape[1] for tile in tiles]
        assert [tile.first for tile in tiles] == [int((csr.degree == 0).sum()), *ends[:-1]] and ends[-1] == n
        for tile in tiles:
            inside = csr.degree[order[tile.first : tile.first + tile.neighbours.shape[1]]]
            assert torch.equal((tile.neighbours < n).sum(0), inside)
    assert found[0] <= 2 and found[1] >= 4, found


def test_the_numbers_of_nodes_are_their_ids() -> None:
    """Without ids another order of nodes may give other communities; of the edges it never does."""
    ring = torch.stack([torch.arange(40), (torch.arange(40) + 1) % 40])
    found = label_propagation(ring, None, 40)
    changed = 0
    for seed in range(8):
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(40, generator=generator)
        renumbered = label_propagation(order[ring], None, 40)[order]
        changed += not torch.equal(renumbered[:, None] == renumbered, found[:, None] == found)
        with_ids = torch.empty_like(order).scatter_(0, order, torch.arange(40))
        named = label_propagation(order[ring], None, 40, ids=with_ids)[order]
        assert torch.equal(named, found)
        assert torch.equal(label_propagation(ring[:, torch.randperm(40, generator=generator)], None, 40), found)
    assert changed


def test_priorities_can_be_compiled_for_every_round() -> None:
    """A compiler that makes a symbol of the round finds no number in the graph that int64 cannot hold."""
    hashes = mix(torch.arange(9))
    golden = 0x9E3779B97F4A7C15
    for turn in (0, 1, 2, 1000):
        assert int(salt(turn)) == (turn + 1) * golden % 2**63
    numbers: list[int] = []

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        for node in graph.graph.nodes:
            numbers.extend(one for one in (*node.args, *node.kwargs.values()) if isinstance(one, int))
        return graph.forward

    compiled = torch.compile(priority, backend=backend, dynamic=True)
    for turn in (3, 4):
        assert torch.equal(compiled(hashes, turn), priority(hashes, turn))
    assert numbers and all(-(2**63) <= one < 2**63 for one in numbers)
