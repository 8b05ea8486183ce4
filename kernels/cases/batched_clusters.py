"""Benchmark cases for `ego_split` and `label_propagation` on many small networks at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from cases.case import Case, PeerShare
from cases.graphs import blocks
from torch import Tensor

from nscma_kernels import ego_split, label_propagation

SIZES = (5, 10, 20, 40)  # nodes of the networks, in turn
FEW = 100  # networks that are done one by one at most, scaled


def batched_clusters_cases(device: torch.device, large: bool) -> Iterator[Case]:
    """Yield overlapping clusters of 1, 100 and 10,000 networks: one PyG `Batch`, created within the time, against one
    by one.
    """
    with warnings.catch_warnings():  # torch_geometric 2.8 calls torch.jit.script when it is imported
        warnings.simplefilter("ignore", DeprecationWarning)
        from torch_geometric.data import Batch, Data

    for count in (1, 100, 10_000, *([100_000] if large else [])):
        graphs = []
        for i in range(count):
            n = SIZES[i % len(SIZES)] if count > 1 else SIZES[-1]
            graphs.append(Data(edge_index=blocks(n, 6, 5, 0.75)[0].to(device), num_nodes=n))
        some = graphs[:FEW]

        def together(graphs: list[Any] = graphs) -> Tensor:
            return _clusters(Batch.from_data_list(graphs))

        def alone(graphs: list[Any] = some) -> list[Tensor]:
            return [_clusters(graph) for graph in graphs]

        expect_the_same(together(), alone())
        scaled = "" if len(some) == count else f" ({len(some)}, scaled)"
        runs: dict[str, Callable[[], object]] = {
            "ours": together,
            f"one by one{scaled}": PeerShare(alone, len(some) / count),
            "making the Batch": lambda graphs=graphs: Batch.from_data_list(graphs),
        }
        yield f"{count} networks of 5 to 40 nodes" if count > 1 else "1 network of 40 nodes", runs


def expect_the_same(batch: Tensor, alone: Sequence[Tensor]) -> None:
    """Raise ValueError if a network of a batch, which begins with these, has other labels than it has alone."""
    first = 0
    for place, own in enumerate(alone):
        if not torch.equal(batch[first : first + len(own)] - first, own):
            raise ValueError(f"network {place} of a batch has other clusters than it has alone")
        first += len(own)


def _clusters(graph: Any) -> Tensor:
    """Return the label of each persona."""
    split = ego_split(graph)
    batch = None if graph.batch is None else graph.batch[split.owner]
    return label_propagation(split.persona_edge_index, None, len(split.ids), batch=batch)
