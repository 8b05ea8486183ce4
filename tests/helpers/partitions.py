"""Partitions of ego-nets in a form that does not depend on the ids of personas."""

from __future__ import annotations

from nscma_kernels.ego_split import PersonaGraph


def smallest_neighbours(split: PersonaGraph) -> list[int]:
    """The smallest neighbour in the same component, for each of the E half-edges: equal where the partitions are."""
    smallest: dict[int, int] = {}
    for neighbour, persona in zip(split.edge_index[1].tolist(), split.persona.tolist(), strict=True):
        smallest[persona] = min(neighbour, smallest.get(persona, neighbour))
    return [smallest[persona] for persona in split.persona.tolist()]
