"""What must hold of every level of a hierarchy, checked with plain dictionaries, without the library's algorithms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cam import Cam
from nscma_torch.hierarchy.level import Level

Edge = tuple[int, int]


def components(members: Iterable[int], joined: Callable[[int], Iterable[int]]) -> list[frozenset[int]]:
    left, found = set(members), []
    while left:
        queue, reached = [min(left)], set[int]()
        while queue:
            one = queue.pop()
            if one not in reached:
                reached.add(one)
                queue += [other for other in joined(one) if other in left and other not in reached]
        found.append(frozenset(reached))
        left -= reached
    return found


def edges_of(level: Level) -> dict[Edge, float]:
    """Weight of each edge, by the numbers of its ends, in both directions."""
    source, target = level.nodes[level.split.edge_index].tolist() if len(level.nodes) else ([], [])
    return dict(zip(zip(source, target, strict=True), level.weight.tolist(), strict=True))


def parts_of(level: Level) -> dict[int, set[frozenset[int]]]:
    """For each node, the neighbours (numbers) that each of its personas holds."""
    held: dict[int, dict[int, set[int]]] = {number: {} for number in level.nodes.tolist()}
    for persona, row in zip(level.split.ids.tolist(), level.split.owner.tolist(), strict=True):
        held[int(level.nodes[row])][persona] = set()
    source, target = level.split.edge_index.tolist()
    for a, b, persona in zip(source, target, level.split.persona.tolist(), strict=True):
        held[int(level.nodes[a])][persona].add(int(level.nodes[b]))
    return {number: {frozenset(own) for own in personas.values()} for number, personas in held.items()}


def expected_parts(
    numbers: Iterable[int], edges: Iterable[Edge], *, overlapping: bool
) -> dict[int, set[frozenset[int]]]:
    """The components of every ego-net (Epasto et al. 2017); an isolated node has one persona, without neighbours."""
    near: dict[int, set[int]] = {number: set() for number in numbers}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    if not overlapping:
        return {number: {frozenset(own)} for number, own in near.items()}
    return {
        number: set(components(own, lambda one, own=own: near[one] & own)) or {frozenset()}
        for number, own in near.items()
    }


def problems(level: Level, settings: HierarchyConfig, *, clustered: bool = True) -> list[str]:
    """What is wrong with a level, a sentence each."""
    split, found = level.split, []
    n, slots = len(level.nodes), split.edge_index.T.tolist()
    for name, values in (("nodes", level.nodes), ("persona ids", split.ids)):
        if any(a >= b for a, b in pairwise(values.tolist())):
            found.append(f"{name} are not ascending")
    if split.num_nodes != n or len(level.labels) != len(split.ids) or len(level.weight) != len(slots):
        return [*found, "lengths do not fit"]
    if slots != sorted(map(list, {(a, b) for a, b in slots})) or any([b, a] not in slots for a, b in slots[:200]):
        found.append("slots are not ordered, or stand in one direction")
    if max([*split.ids.tolist(), *level.labels.tolist()], default=-1) >= level.next_id:
        found.append("an id from next_id on is in use")
    owner = dict(zip(split.ids.tolist(), split.owner.tolist(), strict=True))
    if any(owner.get(persona) != a for (a, _), persona in zip(slots, split.persona.tolist(), strict=True)):
        found.append("a slot's persona is another node's")
    weights, cuts = edges_of(level), dict(zip(map(tuple, slots), level.cut.tolist(), strict=True))
    if any(weights[b, a] != w for (a, b), w in weights.items()) or any(cuts[b, a] != c for (a, b), c in cuts.items()):
        found.append("an edge differs by direction")
    if parts_of(level) != expected_parts(level.nodes.tolist(), weights, overlapping=settings.overlapping):
        found.append("personas are not the components of the ego-nets")
    return found + (_cluster_problems(level, settings) if clustered else [])


def _cluster_problems(level: Level, settings: HierarchyConfig) -> list[str]:
    """Clusters are connected by uncut edges, bounded, and every persona sees no label that weighs more than its own."""
    found = []
    near: dict[int, dict[int, int]] = {place: {} for place in range(len(level.labels))}
    faces = level.split.persona_edge_index.T.tolist()
    for (a, b), weight, cut in zip(faces, level.weight.tolist(), level.cut.tolist(), strict=True):
        if not cut:
            near[a][b] = near[a].get(b, 0) + max(1, round(weight * 2**16))
    label = level.labels.tolist()
    clusters: dict[int, set[int]] = defaultdict(set)
    for place, own in enumerate(label):
        clusters[own].add(place)
    for own, places in clusters.items():
        if len(components(places, lambda one: near[one])) > 1:
            found.append(f"cluster {own} is not connected")
        if len({int(level.split.owner[place]) for place in places}) > settings.max_members:
            found.append(f"cluster {own} has more than {settings.max_members} nodes")
    for place, own in enumerate(label):
        weight: dict[int, int] = defaultdict(int)
        for other, units in near[place].items():
            weight[label[other]] += units
        if weight and weight[own] < max(weight.values()):
            found.append(f"persona {int(level.split.ids[place])} sees a heavier label than its own")
    return found


def cam_problems(cam: Cam, settings: HierarchyConfig) -> list[str]:
    """What is wrong with a hierarchy: with each level, and between them."""
    found = []
    sizes = [len(level.nodes) for level in cam.levels]
    while len(sizes) > 1 and not sizes[-1]:  # a level that there was no more need of, kept for its ids
        sizes.pop()
    levels = cam.levels[: len(sizes)]
    for depth, level in enumerate(levels):
        clustered = bool(settings.max_levels)
        found += [f"level {depth}: {text}" for text in problems(level, settings, clustered=clustered)]
        members: dict[int, set[int]] = defaultdict(set)
        for label, row in zip(level.labels.tolist(), level.split.owner.tolist(), strict=True):
            members[label].add(row)
        above = {label for label, own in members.items() if len(own) >= settings.min_members}
        if depth + 1 < len(levels):
            if set(levels[depth + 1].nodes.tolist()) != above:
                found.append(f"level {depth + 1} does not hold the clusters of level {depth}")
        elif depth < settings.max_levels and above and (not depth or len(above) < len(level.nodes)):
            found.append(f"level {depth} is the last, though its clusters are fewer than its nodes")
    if len(cam.levels) > settings.max_levels + 1:
        found.append("too many levels")
    if any(a <= b for a, b in pairwise(sizes[1:])):
        found.append(f"the number of nodes does not shrink: {sizes}")
    return found
