"""Convert networks to and from stored rows."""

from __future__ import annotations

import torch

from nscma_torch.hierarchy.cam import Cam
from nscma_torch.hierarchy.level import Level
from nscma_torch.hierarchy.store.hierarchies import LevelRows


def to_rows(level: Level) -> LevelRows:
    """Return the rows for a network; every edge appears once, from the smaller number."""
    split = level.split
    source, target = split.edge_index
    forward = source < target
    faces = split.ids[split.persona_edge_index[:, forward]]
    links = zip(
        level.nodes[source[forward]].tolist(),
        level.nodes[target[forward]].tolist(),
        level.weight[forward].tolist(),
        *faces.tolist(),
        level.cut[forward].tolist(),
        strict=True,
    )
    personas = zip(split.ids.tolist(), level.nodes[split.owner].tolist(), level.labels.tolist(), strict=True)
    return LevelRows(frozenset(level.nodes.tolist()), frozenset(personas), frozenset(links), level.next_id)


def from_rows(rows: LevelRows, device: torch.device | None = None) -> Level:
    """Build a network from its rows."""
    personas = torch.tensor(sorted(rows.personas), dtype=torch.int64, device=device).reshape(-1, 3)
    links = sorted(rows.links)
    nodes = torch.tensor(sorted(rows.nodes), dtype=torch.int64, device=device)
    ends = torch.tensor([(a, b) for a, b, *_ in links], dtype=torch.int64, device=device).reshape(-1, 2)
    faces = torch.tensor([(pa, pb) for *_, pa, pb, _ in links], dtype=torch.int64, device=device).reshape(-1, 2)
    weight = torch.tensor([link[2] for link in links], dtype=torch.float32, device=device)
    cut = torch.tensor([link[5] for link in links], dtype=torch.bool, device=device)
    rows_of = torch.searchsorted(nodes, ends)
    source, target = torch.cat([rows_of, rows_of.flip(1)]).T
    order = torch.argsort(source * max(len(nodes), 1) + target)
    return Level.of(
        nodes,
        torch.stack([source[order], target[order]]),
        torch.cat([faces[:, 0], faces[:, 1]])[order],
        personas[:, 0].contiguous(),
        torch.searchsorted(nodes, personas[:, 1].contiguous()),
        weight.repeat(2)[order],
        cut.repeat(2)[order],
        personas[:, 2].contiguous(),
        torch.tensor([rows.next_id], device=device),
    )


def cam_of(levels: tuple[LevelRows, ...], device: torch.device | None = None) -> Cam:
    """Build a hierarchy from its rows."""
    return Cam(tuple(from_rows(rows, device) for rows in levels))
