"""Cases of `personalized_pagerank`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import torch
from cases.case import Case, Part
from cases.graphs import blocks
from torch import Tensor

from nscma_kernels import personalized_pagerank


def personalized_pagerank_cases(device: torch.device) -> Iterator[Case]:
    """One query and 64, of five nodes each, on weighted graphs, beside NetworkX and igraph (PRPACK), query by query.

    Ours starts from the edges, the peers from graphs already built; NetworkX stops at ours's bound on the error.
    """
    for name, n in (("random", 10_000), ("SBM", 10_000), ("SBM", 100_000)):
        edges = torch.randint(0, n, (2, 10 * n)) if name == "random" else blocks(n, 12, 100, 0.9)[0]
        weight = torch.rand(edges.shape[1])
        on_networkx, on_igraph = _networkx(n, edges, weight), _igraph(n, edges, weight)
        for q in (1, 64):
            personalization = torch.zeros(q, n).scatter_(1, torch.randint(0, n, (q, 5)), 1.0)
            there = (edges.to(device), personalization.to(device), weight.to(device))
            runs: dict[str, Callable[[], object]] = {
                "ours": lambda there=there: personalized_pagerank(there[0], there[1], edge_weight=there[2])
            }
            for peer, run, most in (("NetworkX", on_networkx, 4), ("igraph", on_igraph, 16)):
                if run is not None:
                    some = personalization[:most]
                    label = peer if len(some) == q else f"{peer} ({len(some)} of {q}, scaled)"
                    runs[label] = Part(lambda run=run, some=some: [run(row) for row in some], len(some) / q)
            yield f"{name} n={n} E={edges.shape[1]} q={q}", runs


def _networkx(n: int, edges: Tensor, weight: Tensor) -> Callable[[Tensor], object] | None:
    if importlib.util.find_spec("networkx") is None or importlib.util.find_spec("scipy") is None:
        print("networkx or scipy is not installed: left out")
        return None
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for source, target, value in zip(*edges.tolist(), weight.tolist(), strict=True):
        graph.add_edge(source, target, weight=value + graph.get_edge_data(source, target, {"weight": 0.0})["weight"])
    tol = 1e-8 * 0.15 / 0.85 / n  # a change of n tol, which bounds the error by 1e-8

    def run(row: Tensor) -> object:
        chosen = {node: float(row[node]) for node in row.nonzero()[:, 0].tolist()}
        return nx.pagerank(graph, personalization=chosen, tol=tol, max_iter=1000)

    return run


def _igraph(n: int, edges: Tensor, weight: Tensor) -> Callable[[Tensor], object] | None:
    if importlib.util.find_spec("igraph") is None:
        print("igraph is not installed: left out")
        return None
    import igraph

    graph, weights = igraph.Graph(n=n, edges=edges.T.tolist(), directed=True), weight.tolist()
    return lambda row: graph.personalized_pagerank(reset=row.tolist(), weights=weights)
