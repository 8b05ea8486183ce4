"""`label_propagation` against plain Python, and what it promises: monotone, locally maximal, independent of order."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from statistics import fmean
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from nscma_kernels import label_propagation

MASK = 2**64 - 1


def gnm(n: int, m: int, seed: int, heaviest: float = 0) -> tuple[Tensor, Tensor | None]:
    """m random edges [2, m], some of them loops or given twice, and weights where `heaviest` is positive."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(n, (2, m), generator=generator)
    return edges, torch.rand(m, generator=generator) * heaviest if heaviest else None


def planted(n: int, size: int, inside: float, outside: float, seed: int) -> tuple[Tensor, Tensor]:
    """A stochastic block model with blocks of `size`, as edges in both directions, and the block of each node."""
    generator = torch.Generator().manual_seed(seed)
    one = torch.randint(n, (int(n * inside / 2),), generator=generator)
    near = one // size * size + torch.randint(size, one.shape, generator=generator)
    far = torch.randint(n, (2, int(n * outside / 2)), generator=generator)
    return shuffled(torch.cat([torch.stack([one, near]), far], dim=1), torch.arange(n) // size, seed)


def shuffled(edges: Tensor, block: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Nodes renamed at random; every edge in both directions, once."""
    name = torch.randperm(len(block), generator=torch.Generator().manual_seed(seed))
    low, high = name[edges].sort(dim=0).values
    key = torch.unique((low * len(block) + high)[low != high])
    edges = torch.stack([key // len(block), key % len(block)])
    return torch.cat([edges, edges.flip(0)], dim=1), torch.empty_like(block).scatter_(0, name, block)


def dense(edges: Tensor, weight: Tensor | None, n: int) -> Tensor:
    """[n, n] float64, the largest weight of each pair in units of the fixed point; no loops."""
    units = torch.ones(edges.shape[1]) if weight is None else (weight.double() * 2**16).round()
    if weight is not None:
        units = torch.where(weight > 0, units.clamp(min=1), units)
    matrix = torch.zeros(n * n, dtype=torch.float64)
    for one, other in (edges, edges.flip(0)):
        matrix.scatter_reduce_(0, one * n + other, units.double(), "amax")
    return matrix.view(n, n).fill_diagonal_(0)


def potential(matrix: Tensor, labels: Tensor) -> float:
    """The weight of edges between equal labels."""
    return float((matrix * (labels[:, None] == labels)).sum()) / 2


def locally_maximal(matrix: Tensor, labels: Tensor) -> bool:
    names, code = labels.unique(return_inverse=True)
    seen = matrix @ torch.nn.functional.one_hot(code, len(names)).double()
    return bool((seen.gather(1, code[:, None])[:, 0] == seen.amax(1)).all())


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
        label_propagation([[0], [1]])


def test_finds_planted_blocks() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    edges, block = planted(3000, 60, 12, 4, seed=0)
    assert metrics.normalized_mutual_info_score(block, label_propagation(edges, num_nodes=3000)) > 0.98


@pytest.mark.prove
def test_quality_beside_networkit_and_igraph() -> None:
    """NMI with the planted communities: no less than the mean of ten runs of either peer, less 0.01."""
    igraph, networkit = pytest.importorskip("igraph"), pytest.importorskip("networkit")
    networkx, metrics = pytest.importorskip("networkx"), pytest.importorskip("sklearn.metrics")
    nmi = metrics.normalized_mutual_info_score
    table: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    print("\nNMI                                ours  networkit  igraph   (peers: mean of ten runs)")
    for name, edges, block in _benchmarks(networkx):
        n, pairs = len(block), edges[:, edges[0] < edges[1]].T.tolist()
        graph = networkit.Graph(n)
        for one, other in pairs:
            graph.addEdge(one, other)
        theirs: dict[str, list[float]] = {"networkit": [], "igraph": []}
        for seed in range(10):
            networkit.setSeed(seed, True)
            random.seed(seed)
            found = networkit.community.PLP(graph).run().getPartition().getVector()
            theirs["networkit"].append(nmi(block, found))
            found = igraph.Graph(n=n, edges=pairs).community_label_propagation().membership
            theirs["igraph"].append(nmi(block, found))
        ours = nmi(block, label_propagation(edges, num_nodes=n))
        row = (ours, fmean(theirs["networkit"]), fmean(theirs["igraph"]))
        table[name.split()[0]].append(row)
        print(f"{name:34} {row[0]:.3f}      {row[1]:.3f}   {row[2]:.3f}")
    for family, rows in table.items():
        ours, *peers = (fmean(column) for column in zip(*rows, strict=True))
        print(f"{'mean of ' + family:34} {ours:.3f}      {peers[0]:.3f}   {peers[1]:.3f}")
        assert ours >= max(peers) - 0.01


def _benchmarks(networkx):  # type: ignore[no-untyped-def]
    for seed in range(4):
        for n, size, inside, outside in ((2000, 20, 10, 4), (5000, 100, 10, 6), (10_000, 100, 12, 4)):
            yield f"SBM n={n} {inside}+{outside} seed={seed}", *planted(n, size, inside, outside, seed)
    for seed in range(4):
        for n, mixing in ((1000, 0.1), (1000, 0.2), (1000, 0.3), (5000, 0.1), (5000, 0.2), (5000, 0.3), (5000, 0.4)):
            graph = networkx.LFR_benchmark_graph(
                n, 3, 1.5, mixing, average_degree=15, max_degree=50, min_community=20, max_community=100, seed=seed
            )
            community = torch.tensor([min(graph.nodes[node]["community"]) for node in range(n)])
            yield f"LFR n={n} mu={mixing} seed={seed}", *shuffled(torch.tensor([*graph.edges]).T, community, seed)
    for cliques, size in ((100, 5), (50, 20), (1000, 8)):
        edges = torch.tensor([*networkx.ring_of_cliques(cliques, size).edges]).T
        yield f"ring of {cliques} cliques of {size}", *shuffled(edges, torch.arange(cliques * size) // size, 0)
