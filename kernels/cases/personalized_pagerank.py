"""Benchmark cases for `personalized_pagerank`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import torch
from cases.case import Case, PeerShare
from cases.graphs import blocks
from torch import Tensor

from nscma_kernels import personalized_pagerank


def personalized_pagerank_cases(device: torch.device, large: bool) -> Iterator[Case]:
    """Yield one query and 64, of five nodes each, on weighted graphs, beside power iteration with SciPy's sparse
    matrices, NetworkX, and igraph (PRPACK), query by query.

    Ours starts from the edges, SciPy from the edges or from a matrix already built, the others from graphs already
    built; SciPy and NetworkX stop at our error bound.
    """
    for name, n in (("random", 10_000), ("SBM", 10_000), ("SBM", 100_000)):
        edges = torch.randint(0, n, (2, 10 * n)) if name == "random" else blocks(n, 12, 100, 0.9)[0]
        weight = torch.rand(edges.shape[1])
        on_networkx = _networkx(n, edges, weight) if large or n == 10_000 else None
        on_igraph, on_scipy = _igraph(n, edges, weight), _scipy(n, edges, weight)
        for q in (1, 64) if large or n == 10_000 else (1,):
            personalization = torch.zeros(q, n).scatter_(1, torch.randint(0, n, (q, 5)), 1.0)
            there = (edges.to(device), personalization.to(device), weight.to(device))
            runs: dict[str, Callable[[], object]] = {
                "ours": lambda there=there: personalized_pagerank(there[0], there[1], edge_weight=there[2])
            }
            built = None if on_scipy is None else on_scipy()
            if on_scipy is not None and q == 1:
                runs["SciPy from the edges"] = lambda row=personalization[0], build=on_scipy: build()(row)
            for peer, run, most in (("SciPy", built, 16), ("NetworkX", on_networkx, 4), ("igraph", on_igraph, 16)):
                if run is not None:
                    some = personalization[:most]
                    label = peer if len(some) == q else f"{peer} ({len(some)} of {q}, scaled)"
                    runs[label] = PeerShare(lambda run=run, some=some: [run(row) for row in some], len(some) / q)
            yield f"{name} n={n} E={edges.shape[1]} q={q}", runs


def _scipy(n: int, edges: Tensor, weight: Tensor) -> Callable[[], Callable[[Tensor], object]] | None:
    if importlib.util.find_spec("scipy") is None:
        print("scipy is not installed: left out")
        return None
    import numpy as np
    from scipy.sparse import csr_matrix

    source, target, value = edges[0].numpy(), edges[1].numpy(), weight.double().numpy()

    def build() -> Callable[[Tensor], object]:
        leaving = np.bincount(source, weights=value, minlength=n)
        matrix = csr_matrix((0.85 * value / leaving[source], (target, source)), shape=(n, n))
        stuck = np.flatnonzero(leaving == 0)

        def run(row: Tensor) -> object:
            start = (row.double() / row.sum()).numpy()
            scores, change = start, 1.0
            while change * 0.85 / 0.15 > 1e-8:
                new = matrix @ scores + (0.15 + 0.85 * scores[stuck].sum()) * start
                scores, change = new, np.abs(new - scores).sum()
            return scores

        return run

    return build


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
