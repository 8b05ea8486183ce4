"""Benchmark cases for `ego_split`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from cases.case import Case, PeerShare
from cases.graphs import blocks, ring

from nscma_kernels import ego_split


def ego_split_cases(device: torch.device, large: bool) -> Iterator[Case]:
    """Yield personas of all nodes, against NetworkX one node at a time; at n = 100,000 on 5,000 of the egos, scaled."""
    shapes = [("SBM", 10_000, 16), ("ring", 10_000, 16), ("ring", 10_000, 32)]
    for name, n, degree in [*shapes, *([("SBM", 100_000, 32)] if large else [])]:
        edges = ring(n, degree) if name == "ring" else blocks(n, degree, degree * 5 // 4, 0.75)[0]
        edge_index = edges.to(device)
        egos = 5000 if n > 10_000 else n
        peer = "NetworkX" if egos == n else f"NetworkX ({egos} egos, scaled)"
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda edge_index=edge_index, n=n: ego_split(edge_index, n),
            peer: PeerShare(literal_personas(edges, n, egos), egos / n),
        }
        yield f"{name} n={n} degree={edges.shape[1] / n:.0f}", runs


def literal_personas(edge_index: torch.Tensor, num_nodes: int, egos: int) -> Callable[[], object]:
    """Return the persona step as in karateclub's EgoNetSplitter: a subgraph and its components for each node."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(edge_index.T.tolist())
    nodes = torch.randperm(num_nodes)[:egos].tolist()

    def run() -> object:
        index, components, personalities = 0, {}, {}
        for node in nodes:
            mapping, personas = {}, []
            for part in nx.connected_components(graph.subgraph(graph.neighbors(node))):
                personas.append(index)
                for other in part:
                    mapping[other] = index
                index += 1
            components[node], personalities[node] = mapping, personas
        return components, personalities

    return run
