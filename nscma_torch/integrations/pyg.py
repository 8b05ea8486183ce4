"""Ego-splitting and label propagation as PyTorch Geometric transforms, for `T.Compose`, data sets and loaders.

A `Batch` of graphs is processed in one call; the result is a batch of the results for the individual graphs. Both
transforms treat graphs as undirected, don't modify their input, and run on its device.

    T.Compose([EgoSplit(), LabelPropagation()])(data).community  # of each persona: communities that overlap in nodes
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from nscma_kernels import PersonaGraph, ego_split, label_propagation
from nscma_torch.core.extras import import_torch_geometric

import_torch_geometric("a PyG transform")
from torch_geometric.data import Batch, Data  # noqa: E402 - after the line that says what to do where it is missing
from torch_geometric.transforms import BaseTransform  # noqa: E402


class _PlacesMeta(type(Data)):  # type: ignore[misc] # PyG has no types
    """Metaclass for the classes created by `_with_places`, which are pickled as the arguments that create them."""

    base: type[Data]
    places: tuple[tuple[str, str], ...]

    def __reduce__(cls) -> tuple[Any, ...]:
        return _with_places, (cls.base, cls.places)


copyreg.pickle(_PlacesMeta, _PlacesMeta.__reduce__)


@cache
def _with_places(base: type[Data], places: tuple[tuple[str, str], ...]) -> type[Data]:
    """Return a graph class in which some attributes contain node indices, so that `Batch` shifts them.

    Args:
        places: the sorted names of the attributes. Each is paired with "" if it contains indices into the graph itself,
            or with the name of the attribute that maps the nodes to another graph and covers all of that graph's nodes.
    """
    of = dict(places)
    of_base: Any = base.__repr__

    def __inc__(self: Any, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - PyG's name
        if key not in of:
            return base.__inc__(self, key, value, *args, **kwargs)
        if not of[key]:
            return self.num_nodes
        values = self[of[key]]
        return int(values.max()) + 1 if len(values) else 0

    def __repr__(self: Any) -> str:  # noqa: N807
        written: str = of_base(self)
        return written.replace(name, base.__name__, 1)

    name = f"{base.__name__}With{''.join(key.title() for key in of)}"  # PyG names batches by it
    own = {"__inc__": __inc__, "__repr__": __repr__, "base": base, "places": places, "__module__": __name__}
    return _PlacesMeta(name, (base,), own)


def _placed(given: type[Data], places: Mapping[str, str]) -> type[Data]:
    """Return a graph's class with additional index attributes."""
    base: Any = given
    known: tuple[tuple[str, str], ...] = ()
    if isinstance(given, _PlacesMeta):
        base, known = given.base, given.places
    return _with_places(base, tuple(sorted({**dict(known), **places}.items())))


class EgoSplit(BaseTransform):  # type: ignore[misc] # PyG has no types
    """Build the persona graph (Epasto, Lattanzi and Paes Leme, KDD 2017): one node for each component of each node's
    neighbourhood.

    Personas are ordered by node, then by their smallest neighbour; edges are ordered by (row, column) and occur once in
    each direction, without self-loops. A node's attributes are copied to all its personas. An edge has the attributes
    of the first given edge in its direction, or else of the first edge in the other direction. Other attributes are
    unchanged: `edge_label_index` and `edge_label` from a link split still refer to nodes in the original graph.

    Args:
        owner: name of the attribute [P] int64 that contains each persona's node, an index into the original graph.
            `Batch` shifts it, and other indices into that graph, by that graph's number of nodes.
    """

    def __init__(self, owner: str = "owner") -> None:
        self.owner = owner

    def __repr__(self) -> str:
        return f"{type(self).__name__}(owner={self.owner!r})"

    def forward(self, data: Data) -> Data:
        """Split a graph. Raises `TypeError` for anything but `Data` or `Batch`, `ValueError` for edges outside the
        graph.
        """
        _check(data)
        split = ego_split(data)
        if not isinstance(data, Batch):
            return self._split(data, split)
        graphs = data.to_data_list()
        nodes = torch.tensor([graph.num_nodes for graph in graphs], device=split.owner.device)
        of_edge, of_persona = data.batch[split.edge_index[0]], data.batch[split.owner]
        first = nodes.cumsum(0) - nodes
        personas, edges = (torch.bincount(of, minlength=len(graphs)) for of in (of_persona, of_edge))
        before = personas.cumsum(0) - personas
        parts = zip(
            _cut(split.edge_index - first[of_edge], edges),
            _cut(split.persona - before[of_edge], edges),
            _cut(split.ids - before[of_persona], personas),
            _cut(split.owner - first[of_persona], personas),
            nodes.tolist(),
            personas.tolist(),
            strict=True,
        )
        return Batch.from_data_list(
            [self._split(graph, PersonaGraph(*part)) for graph, part in zip(graphs, parts, strict=True)]
        )

    def _split(self, data: Data, split: PersonaGraph) -> Data:
        """Build the persona graph for a single graph from its split."""
        given = _given_edges(data.edge_index, split)
        kept, before = {}, {self.owner: self.owner}
        for name, value in data.items():
            if name in ("edge_index", "num_nodes"):
                continue
            axis, shifted = data.__cat_dim__(name, value), _is_shifted(data, name, value)
            if shifted:
                before[name] = self.owner
            labels = f"{name}_index" in data  # of pairs of nodes, not of edges
            if not labels and not (shifted and axis != 0):
                if data.is_node_attr(name):
                    value = _rows(value, split.owner, axis)
                elif data.is_edge_attr(name):
                    value = _rows(value, given, axis)
            kept[name] = value
        out = _placed(type(data), before)()
        for name, value in kept.items():
            out[name] = value
        out.edge_index, out[self.owner] = split.persona_edge_index, split.owner
        out.num_nodes = len(split.ids)
        return out


class LabelPropagation(BaseTransform):  # type: ignore[misc] # PyG has no types
    """Find communities by chase-gated label propagation, which is deterministic, convergent, and independent of edge
    order.

    The result depends on node numbers: another order of nodes may give other communities.

    (PyG's `LabelPropagation` spreads given classes to unlabelled nodes; this transform finds communities without
    labels.) In the result, no label has a larger total weight among a node's neighbours than the node's own label.
    Isolated nodes stay alone.

    Args:
        weight: name of the edge attribute [E] that contains weights, or None for weight 1; in a graph without this
            attribute, every edge has weight 1.
        community: name of the attribute [n] int64 that contains each node's community, given as one of its members.
            `Batch` shifts it like nodes, which keeps the communities of different graphs separate.
        max_rounds: maximum number of rounds, or None to run until convergence.
    """

    def __init__(
        self, weight: str | None = "edge_weight", community: str = "community", max_rounds: int | None = None
    ) -> None:
        self.weight, self.community, self.max_rounds = weight, community, max_rounds

    def __repr__(self) -> str:
        given = f"weight={self.weight!r}, community={self.community!r}, max_rounds={self.max_rounds}"
        return f"{type(self).__name__}({given})"

    def forward(self, data: Data) -> Data:
        """Label a graph. Raises `TypeError` for anything but `Data` or `Batch`, `ValueError` for negative or
        non-numeric weights.
        """
        _check(data)
        weight = data.get(self.weight) if self.weight else None
        batch = data.batch if isinstance(data, Batch) else None
        found = label_propagation(data.edge_index, weight, data.num_nodes, batch=batch, max_rounds=self.max_rounds)
        if batch is None:
            return self._clustered(data, found)
        graphs = data.to_data_list()
        nodes = torch.tensor([graph.num_nodes for graph in graphs], device=found.device)
        for graph, own in zip(graphs, _cut(found - (nodes.cumsum(0) - nodes)[batch], nodes), strict=True):
            self._clustered(graph, own)
        return Batch.from_data_list(graphs)

    def _clustered(self, data: Data, found: Tensor) -> Data:
        object.__setattr__(data, "__class__", _placed(type(data), {self.community: ""}))  # Data keeps what is set on it
        data[self.community] = found
        return data


def _check(data: Data) -> None:
    if not isinstance(data, Data) or data.edge_index is None:
        raise TypeError(f"a homogeneous PyG Data or Batch with an edge_index is needed, got {type(data).__name__}")


def _is_shifted(data: Data, name: str, value: Any) -> bool:
    """Return True if `Batch` shifts an attribute because it contains node indices."""
    if not isinstance(value, Tensor) or not value.numel():
        return "index" in name
    shift = data.__inc__(name, value, data)
    return bool(shift.any() if isinstance(shift, Tensor) else shift)


def _rows(value: Any, places: Tensor, axis: int) -> Any:
    """Return the entries of a node or edge attribute at these indices, along the axis on which PyG stacks it."""
    if isinstance(value, Tensor):
        return value.index_select(axis, places)
    return value[places]


def _cut(values: Tensor, sizes: Tensor) -> Sequence[Tensor]:
    """Split a tensor into parts with these sizes, along the last axis."""
    return torch.split(values, sizes.tolist(), dim=-1)


def _given_edges(edge_index: Tensor, split: PersonaGraph) -> Tensor:
    """Return, for each edge in the split, the index [E] of the matching input edge: the first with the same
    direction, or, if there is none, the first with the opposite direction.
    """
    n = max(split.num_nodes, 1)
    given, order = (edge_index[0] * n + edge_index[1]).sort(stable=True)
    row, column = split.edge_index
    if not len(given):
        return order
    wanted, turned = row * n + column, column * n + row
    place, other = (torch.searchsorted(given, keys).clamp(max=len(given) - 1) for keys in (wanted, turned))
    return order[torch.where(given[place] == wanted, place, other)]
