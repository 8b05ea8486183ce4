"""A network in the hierarchy: nodes, their personas, and each persona's cluster.

One `Level` can contain several networks side by side, to cluster them in one call (`side_by_side.joined`). Each number
(for a node, a persona or a cluster) then has its network's position in the bits above the lower `NUMBER_BITS`.

Legend: n is the number of nodes, E of slots (directed edges), P of personas, G of networks. A node's *number* is
stable; its *row* is its position in `nodes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nscma_kernels import PersonaGraph, label_propagation, update_split
from nscma_kernels.graph import undirected

NUMBER_BITS = 40  # of a number within its network


@dataclass(frozen=True)
class Edit:
    """A change to a network, given by node numbers. Setting an edge adds it or changes its weight."""

    added: Tensor  # [a] int64 ascending
    removed: Tensor  # [r] int64
    edges: Tensor  # [2, m] int64, in one direction or both
    weight: Tensor  # [m] float32
    gone: Tensor  # [2, g] int64, edges to go between nodes that stay

    def networks(self, count: int) -> Tensor:
        """Return a mask [G] bool of the networks, out of `count`, that the edit changes."""
        changed = torch.zeros(count, dtype=torch.bool, device=self.added.device)
        for numbers in (self.added, self.removed, self.edges, self.gone):
            changed[numbers.flatten() >> NUMBER_BITS] = True
        return changed


@dataclass(frozen=True)
class Propagation:
    """Settings for label propagation (CAM section 4.1, step 2 of the online clustering updates).

    Attributes:
        weighted: weight neighbours by their edges; if False, each counts as 1, as in the paper.
        max_rounds: maximum number of iterations, as in the paper; None means until no label changes.
    """

    weighted: bool = True
    max_rounds: int | None = None


@dataclass(frozen=True)
class Level:
    """A network G_l (CAM equation 1) and its clustering, or several such networks side by side.

    Attributes:
        nodes: [n] int64, the nodes' numbers, ascending.
        split: the networks with each node split into personas, in rows; its `next_id` is larger than all numbers.
        weight: [E] float32.
        cut: [E] bool, True for edges that no longer hold a cluster together; see `split_clusters`.
        labels: [P] int64, the cluster of each persona.
        next_ids: [G] int64, each network's smallest unused id.
    """

    nodes: Tensor
    split: PersonaGraph
    weight: Tensor
    cut: Tensor
    labels: Tensor
    next_ids: Tensor

    @classmethod
    def of(
        cls,
        nodes: Tensor,
        edge_index: Tensor,  # [2, E] rows
        persona: Tensor,  # [E] ids
        ids: Tensor,  # [P]
        owner: Tensor,  # [P] rows
        weight: Tensor,
        cut: Tensor,
        labels: Tensor,
        next_ids: Tensor,
    ) -> Level:
        """Build the level from these tensors."""
        split = PersonaGraph(edge_index, persona, ids, owner, len(nodes), len(next_ids) << NUMBER_BITS)
        return cls(nodes, split, weight, cut, labels, next_ids)

    @classmethod
    def empty(cls, device: torch.device | None = None, next_id: int = 0) -> Level:
        """Build a network without nodes; its ids count up from `next_id`."""
        none = torch.empty(0, dtype=torch.int64, device=device)
        next_ids = torch.tensor([next_id], device=device)
        return cls.of(none, none.reshape(2, 0), none, none, none, none.float(), none.bool(), none, next_ids)

    @property
    def next_id(self) -> int:
        """Return the smallest unused id in a single network."""
        return int(self.next_ids)

    def vacated(self) -> Level:
        """Return the single network with its nodes removed; their ids are not reused."""
        return Level.empty(self.nodes.device, self.next_id)

    def numbered(self, networks: Tensor) -> tuple[Tensor, Level]:
        """Take a new number for each of these networks [a], ascending; return the numbers and the updated level."""
        count = torch.bincount(networks, minlength=len(self.next_ids))
        first = self.next_ids - (count.cumsum(0) - count)
        new = (networks << NUMBER_BITS) + first[networks] + torch.arange(len(networks), device=networks.device)
        return new, replace(self, next_ids=self.next_ids + count)

    def rows(self, numbers: Tensor) -> Tensor:
        """Return the rows of nodes, given their numbers; each node must exist."""
        rows = torch.searchsorted(self.nodes, numbers).clamp(max=max(len(self.nodes) - 1, 0))
        assert bool((self.nodes[rows] == numbers).all()), "an edit names a node that is not there"
        return rows

    def edited(self, edit: Edit, *, overlapping: bool) -> tuple[Level, Tensor]:
        """Return the network after an edit; existing personas keep their id and label, and new ones found their own
        clusters.

        The second result contains the positions in `split.ids` of the personas with a changed neighbourhood.
        """
        grown = self._with_nodes(edit.added)
        leaving = torch.zeros_like(grown.nodes, dtype=torch.bool)
        leaving[grown.rows(edit.removed)] = True
        edges, weight = _once(grown.rows(edit.edges), edit.weight)
        n = max(len(grown.nodes), 1)
        keys = keys_of(grown.split, n)
        wanted = edges[0] * n + edges[1]
        present = torch.isin(wanted, keys)
        insert = edges[:, ~present]
        of_leaving = leaving[grown.split.edge_index].any(dim=0)
        delete = torch.cat([grown.split.edge_index[:, of_leaving], grown.rows(edit.gone)], dim=1)
        update = update_split if overlapping else _update_whole
        after, touched = grown._resplit(*update(grown.split, insert, delete))
        split = after.split
        place = torch.searchsorted(keys_of(split, n), torch.cat([wanted, edges[1] * n + edges[0]]))
        reweighted = after.weight.clone()
        reweighted[place] = torch.cat([weight, weight])
        moved = split.persona_edge_index[:, place[reweighted[place] != after.weight[place]]].flatten()
        frontier = torch.zeros_like(split.ids, dtype=torch.bool)
        frontier[touched] = True
        frontier[moved] = True
        return replace(after, weight=reweighted)._without_nodes(leaving, frontier)

    def _with_nodes(self, numbers: Tensor) -> Level:
        """Add nodes, each with one persona that founds its own cluster."""
        nodes, order = torch.cat([self.nodes, numbers]).sort()
        row = torch.empty_like(order)
        row[order] = torch.arange(len(order), device=order.device)
        old, split = len(self.nodes), self.split
        new, grown = self.numbered(numbers >> NUMBER_BITS)
        ids, place = torch.cat([split.ids, new]).sort()
        return Level.of(
            nodes,
            row[:old][split.edge_index],
            split.persona,
            ids,
            torch.cat([row[:old][split.owner], row[old:]])[place],
            self.weight,
            self.cut,
            torch.cat([self.labels, new])[place],
            grown.next_ids,
        )

    def _resplit(self, split: PersonaGraph, touched: Tensor) -> tuple[Level, Tensor]:
        """Replace the split for the same nodes, keeping the weights, cuts and labels of edges and personas that remain.

        New personas in `split` count up from `next_id`; here they get numbers in their networks. The second result
        contains the new positions [t] of the touched personas [t].
        """
        fresh = split.ids >= self.split.next_id
        new, counted = self.numbered(self.nodes[split.owner[fresh]] >> NUMBER_BITS)
        ids, order = torch.cat([split.ids[~fresh], new]).sort()
        renamed = split.persona >= self.split.next_id
        persona = split.persona.clone()
        persona[renamed] = new[persona[renamed] - self.split.next_id]
        n = max(len(self.nodes), 1)
        slot, kept = _found(keys_of(self.split, n), keys_of(split, n))
        weight = torch.where(kept, self.weight[slot], 0.0) if len(self.weight) else kept.float()
        cut = kept & self.cut[slot] if len(self.cut) else kept
        place, known = _found(self.split.ids, ids)
        labels = torch.where(known, self.labels[place], ids) if len(self.labels) else ids
        after = Level.of(
            self.nodes, split.edge_index, persona, ids, split.owner[order], weight, cut, labels, counted.next_ids
        )
        return after, torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))[touched]

    def _without_nodes(self, leaving: Tensor, frontier: Tensor) -> tuple[Level, Tensor]:
        """Remove the nodes chosen by [n] bool, which must have no edges; convert the frontier [P] bool to positions."""
        if bool(leaving.any()):
            row = (~leaving).cumsum(0) - 1
            stays = ~leaving[self.split.owner]
            left = Level.of(
                self.nodes[~leaving],
                row[self.split.edge_index],
                self.split.persona,
                self.split.ids[stays],
                row[self.split.owner[stays]],
                self.weight,
                self.cut,
                self.labels[stays],
                self.next_ids,
            )
            return left, frontier[stays].nonzero().flatten()
        return self, frontier.nonzero().flatten()

    def settled(self, frontier: Tensor, rule: Propagation = Propagation()) -> Level:
        """Return the level with clusters updated by label propagation over the persona network, starting at the
        personas in the frontier.
        """
        if not len(frontier):
            return self
        holding = ~self.cut
        network, within = self.split.ids >> NUMBER_BITS, (1 << NUMBER_BITS) - 1
        labels = label_propagation(
            self.split.persona_edge_index[:, holding],
            self.weight[holding] if rule.weighted else None,
            len(self.split.ids),
            labels=self.labels & within,
            frontier=frontier,
            ids=self.split.ids & within,
            batch=network if len(self.next_ids) > 1 else None,
            max_rounds=rule.max_rounds,
        )
        return replace(self, labels=labels + (network << NUMBER_BITS))


def keys_of(split: PersonaGraph, n: int) -> Tensor:
    """Return ascending keys [E], one for each slot."""
    return split.edge_index[0] * n + split.edge_index[1]


def _once(edges: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the edges in one direction only."""
    if not edges.shape[1]:
        return edges.reshape(2, 0), weight
    graph = undirected(edges, weight)
    forward = graph.row < graph.col
    return torch.stack([graph.row[forward], graph.col[forward]]), graph.weight[forward]


def _found(ascending: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return the position of each wanted value, and a mask of the values that exist."""
    place = torch.searchsorted(ascending, wanted).clamp(max=max(len(ascending) - 1, 0))
    if not len(ascending):
        return place, torch.zeros_like(place, dtype=torch.bool)
    return place, ascending[place] == wanted


def _update_whole(split: PersonaGraph, insert: Tensor, delete: Tensor) -> tuple[PersonaGraph, Tensor]:
    """Replace `update_split` in the ablation without flexibility: every node has a single persona."""
    n = max(split.num_nodes, 1)
    gone = torch.cat([delete[0] * n + delete[1], delete[1] * n + delete[0]])
    new = torch.cat([insert[0] * n + insert[1], insert[1] * n + insert[0]])
    old = keys_of(split, n)
    keys = torch.unique(torch.cat([old[~torch.isin(old, gone)], new]))
    edge_index = torch.stack([keys // n, keys % n])
    id_of = split.ids.new_empty(split.num_nodes)
    id_of[split.owner] = split.ids
    whole = PersonaGraph(edge_index, id_of[edge_index[0]], split.ids, split.owner, split.num_nodes, split.next_id)
    touched = torch.isin(split.owner, torch.cat([insert, delete], dim=1))
    return whole, touched.nonzero().flatten()
