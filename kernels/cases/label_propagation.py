"""Benchmark cases for `label_propagation`."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator

import torch
from cases.case import Case
from cases.graphs import blocks, both
from torch import Tensor

from nscma_kernels import label_propagation


def label_propagation_cases(device: torch.device, large: bool) -> Iterator[Case]:
    """Yield communities of 1,000 to 100,000 nodes, beside label propagation of networkit and igraph; NMI with the
    planted.

    Ours starts from sorted edges, the peers from graphs already built.
    """
    size = 100
    for name, n in (("SBM", 1000), ("SBM", 10_000), ("SBM", 100_000), *([("ring", 100_000)] if large else [])):
        edges, block = blocks(n, 15, size, 0.75) if name == "SBM" else _cut_ring(n, size)
        edge_index = edges.to(device)
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda edge_index=edge_index, n=n: label_propagation(edge_index, num_nodes=n).tolist()
        }
        runs |= community_peers(n, edges)
        yield f"{name} n={n} E={edge_index.shape[1]} NMI {_quality(block, runs)}", runs


def _cut_ring(n: int, size: int) -> tuple[Tensor, Tensor]:
    """Return eight neighbours on each side, cut at the ends of each block in four places out of five."""
    block = torch.arange(n) // size
    edges = torch.cat([torch.stack([torch.arange(n), (torch.arange(n) + step) % n]) for step in range(1, 9)], dim=1)
    edges = edges[:, (block[edges[0]] == block[edges[1]]) | (torch.rand(edges.shape[1]) < 0.2)]
    order = torch.randperm(n)
    return both(order[edges[0]], order[edges[1]], n), block[torch.argsort(order)]


def community_peers(n: int, edge_index: Tensor) -> dict[str, Callable[[], object]]:
    """Return the installed peers."""
    pairs = edge_index[:, edge_index[0] < edge_index[1]].T.tolist()
    peers: dict[str, Callable[[], object]] = {}
    for library in ("networkit", "igraph"):
        if importlib.util.find_spec(library) is None:
            print(f"{library} is not installed: left out")
    if importlib.util.find_spec("networkit") is not None:
        import networkit

        networkit.setNumberOfThreads(torch.get_num_threads())
        networkit.setSeed(0, True)
        graph = networkit.Graph(n)
        for one, other in pairs:
            graph.addEdge(one, other)
        peers["networkit"] = lambda: networkit.community.PLP(graph).run().getPartition().getVector()
    if importlib.util.find_spec("igraph") is not None:
        import igraph

        random.seed(0)
        built = igraph.Graph(n=n, edges=pairs)
        peers["igraph"] = lambda: built.community_label_propagation().membership
    return peers


def _quality(block: Tensor, runs: dict[str, Callable[[], object]]) -> str:
    if importlib.util.find_spec("sklearn") is None:
        return "needs scikit-learn"
    from sklearn.metrics import normalized_mutual_info_score

    return " ".join(f"{who} {normalized_mutual_info_score(block, run()):.3f}" for who, run in runs.items())
