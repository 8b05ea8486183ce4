"""Ego-splitting and label propagation of many small networks: one call for all of them beside a call for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from eval.experiments.gpu.clock import milliseconds
from eval.experiments.gpu.part import Row, expect
from nscma_kernels import ego_split, label_propagation

_NODES, _EDGES = 30, 90  # of a network
_ALONE = 20  # networks that are clustered one by one; their time is scaled to all


def clustering(device: torch.device, quick: bool) -> Iterator[Row]:
    """Random networks of 30 nodes; every network gets the clusters that it gets alone."""
    for count in (1, 10) if quick else (1, 100, 10_000):
        generator = torch.Generator().manual_seed(count)
        drawn = torch.randint(0, _NODES, (count, 2, _EDGES), generator=generator)
        networks = list(drawn[:_ALONE].to(device))
        union = (drawn + _NODES * torch.arange(count)[:, None, None]).permute(1, 0, 2).reshape(2, -1).to(device)
        batch = torch.arange(count, device=device).repeat_interleave(_NODES)
        whole = clusters(union, batch)
        first = 0
        for edges in networks:
            alone = clusters(edges, batch[:_NODES])
            got = whole[first : first + len(alone)]
            expect(torch.equal(got - first, alone), "a network of a batch has other clusters than it has alone")
            first += len(alone)
        took = milliseconds(
            {
                "batch": partial(clusters, union, batch),
                "alone": partial(_one_by_one, networks, batch[:_NODES]),
            },
            device,
            1 if quick else 5,
        )
        scaled = took["alone"] * count / len(networks)
        values = {
            "one call, ms": took["batch"],
            "one by one, ms": scaled,
            "one by one / one call": scaled / took["batch"],
        }
        yield Row("ego_split + label_propagation", f"{count:,} networks of {_NODES} nodes", "int64", values)


def clusters(edge_index: Tensor, batch: Tensor) -> Tensor:
    """The label of each persona of each network, network after network."""
    split = ego_split(edge_index, len(batch), batch=batch)
    return label_propagation(split.persona_edge_index, num_nodes=len(split.owner), batch=batch[split.owner])


def _one_by_one(networks: Sequence[Tensor], batch: Tensor) -> list[Tensor]:
    return [clusters(edges, batch) for edges in networks]
