"""Facts as a heterogeneous PyTorch Geometric graph: entities, source messages, and validity times.

Legend: n is the number of entities, m of messages, E of edges of one type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.extras import import_torch_geometric
from nscma_torch.core.records import Fact

import_torch_geometric("the graph of facts")
from torch_geometric.data import Data, HeteroData  # noqa: E402 - after the line that says what to do where it is missing

RELATED = ("entity", "related_to", "entity")
TOLD = ("entity", "told_in", "message")
UNKNOWN_SINCE, STILL = -(1 << 63), (1 << 63) - 1  # the ends of int64


class Related(NamedTuple):
    """Edges between entities: the positions of both entities, of the relation and of the fact."""

    source: int
    relation: int
    target: int
    fact: int


@dataclass(frozen=True)
class FactNetwork:
    """All facts of one (user, agent), including past ones.

    Attributes:
        data: `RELATED` edges connect the two entities of each fact; `TOLD` edges lead from both entities to its
            messages. Each type has `edge_index` [2, E] int64, `fact` [E] positions of the facts, `valid_from`,
            `valid_to` [E] microseconds since the epoch (the limits of int64 if the start is unknown or there is no
            end), `archived` [E] bool; `RELATED` also has `relation` [E], positions in the schema.
        messages: the position of each message, by episode id.
    """

    data: HeteroData
    messages: Mapping[str, int]

    @classmethod
    def of(
        cls, facts: Sequence[Fact], entities: Mapping[str, int], ends: Sequence[tuple[str, str]],
        related: Sequence[Related], device: torch.device | str,
    ) -> FactNetwork:  # fmt: skip
        """Build the network of facts; `ends` are the keys in `entities` of their subjects and objects."""
        messages: dict[str, int] = {}
        told: list[tuple[int, int, int]] = []
        for place, (one, keys) in enumerate(zip(facts, ends, strict=True)):
            for key in keys:
                told += [(entities[key], messages.setdefault(e, len(messages)), place) for e in one.episode_ids]
        data = HeteroData()
        data["entity"].num_nodes = len(entities)
        data["message"].num_nodes = len(messages)
        source, relation, target, fact = (_numbers(column, device) for column in _columns(related, 4))
        data[RELATED].update({"edge_index": torch.stack([source, target]), "relation": relation, "fact": fact})
        entity, message, fact = (_numbers(column, device) for column in _columns(told, 3))
        data[TOLD].update({"edge_index": torch.stack([entity, message]), "fact": fact})
        since = _numbers((UNKNOWN_SINCE if f.valid_from is None else to_micros(f.valid_from) for f in facts), device)
        until = _numbers((STILL if f.valid_to is None else to_micros(f.valid_to) for f in facts), device)
        archived = _numbers((f.status == "archived" for f in facts), device).bool()
        for edges in data.edge_stores:
            of_facts = {"valid_from": since, "valid_to": until, "archived": archived}
            edges.update({name: values[edges.fact] for name, values in of_facts.items()})
        return cls(data, messages)

    def at(self, as_of: datetime | None, now: datetime | None) -> HeteroData:
        """Return the same nodes, with the edges whose facts hold at a time, or now: see `FactGraph.holds`."""
        view = copy(self.data)
        for edges in view.edge_stores:
            held = _held(edges, as_of, now)
            for name, values in list(edges.items()):
                edges[name] = values[..., held]
        return view

    def told(self, as_of: datetime | None, now: datetime | None) -> Data:
        """Return the n entities followed by the m messages; `edge_index` [2, 2E] contains the `TOLD` edges from `at` in
        both directions.
        """
        n, edges = self.data["entity"].num_nodes, self.data[TOLD]
        entity, message = edges.edge_index[:, _held(edges, as_of, now)]
        one = torch.stack([entity, message + n])
        return Data(edge_index=torch.cat([one, one.flip(0)], dim=1), num_nodes=n + len(self.messages))


def _held(edges: Any, as_of: datetime | None, now: datetime | None) -> Tensor:
    """Return a mask [E] bool of the edges whose facts hold."""
    at = as_of or now
    held = torch.ones_like(edges.archived)
    if at is not None:
        held &= (edges.valid_from <= to_micros(at)) & (to_micros(at) < edges.valid_to)
    if as_of is None:  # what went to the archive without an end does not hold now
        held &= ~(edges.archived & (edges.valid_to == STILL)) if now is not None else ~edges.archived
    return held


def _columns(rows: Sequence[Sequence[int]], count: int) -> list[tuple[int, ...]]:
    return list(zip(*rows, strict=True)) or [()] * count


def _numbers(values: Iterable[int], device: torch.device | str) -> Tensor:
    return torch.tensor(list(values), dtype=torch.int64, device=device)
