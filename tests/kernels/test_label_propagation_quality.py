"""`label_propagation` finds planted communities, beside its peers in other libraries."""

from __future__ import annotations

import random
from collections import defaultdict
from statistics import fmean

import pytest
import torch

from nscma_kernels import label_propagation
from tests.kernels.label_graphs import planted, shuffled


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
