"""Insights about a user: clusters of alike messages, each summed up in dated lines with confidence and sources.

As ChatGPT's "user insights" are described (notes on context memory, ChatGPT, 2.3): a batch, once a week, clusters the
messages of a user by their embeddings (k nearest neighbours), and has the texts of each cluster summed up. Ours: the
clusters are communities of the nearest-neighbour graph, of each person in the role of the user alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import torch
from sqlalchemy import Connection

from nscma_kernels.knn_graph import knn_graph
from nscma_kernels.label_propagation import label_propagation
from nscma_torch.config import Insights as InsightsSection
from nscma_torch.curator.derivation import Due
from nscma_torch.protocols import InsightTasks
from nscma_torch.records import SourcedLine, Unit
from nscma_torch.storage import derived_texts
from nscma_torch.storage.clock import from_micros
from nscma_torch.storage.derived_sources import Said, said_in
from nscma_torch.storage.derived_texts import NewText, Part
from nscma_torch.storage.streams import derive_id
from nscma_torch.storage.units import unit_of
from nscma_torch.text.names import name_key


class Insights:
    """Derives insights.

    Args:
        device: where messages are clustered.
    """

    def __init__(self, tasks: InsightTasks, settings: InsightsSection, device: torch.device) -> None:
        self._tasks = tasks
        self._settings = settings
        self._device = device

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """One part for each person whose messages are not those of the last time, once the days are over."""
        parts = []
        runs = derived_texts.runs(connection, namespace, "insight")
        for speaker, said in _speakers(said_in(connection, namespace, now, roles=("user",))).items():
            basis = derive_id("insights", *(part for one in said for part in (one.episode.id, one.episode.text)))
            part = derive_id("speaker", speaker)  # no name is kept
            last = runs.get(part)
            young = last is not None and now - from_micros(last.made_at) < timedelta(days=self._settings.days)
            if young or (last is not None and last.basis == basis):
                continue
            groups = tuple(tuple(unit_of(one.episode) for one in group) for group in self._clusters(said))
            rows = {one.episode.id: one.seq for one in said}
            parts.append(Due(Part(namespace, "insight", part), basis, groups, rows))
        return parts

    def write(self, groups: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
        """What each cluster shows."""
        return self._tasks.insights(groups)

    def chosen(self, lines: Sequence[NewText]) -> Sequence[NewText]:
        """The first of each wording; clusters come the largest first."""
        return list({line.text: line for line in reversed(lines)}.values())[::-1][: self._settings.most]

    def _clusters(self, said: Sequence[Said]) -> list[list[Said]]:
        """Communities of alike messages, the largest first."""
        embedded = [one for one in said if one.vector is not None]
        if len(embedded) < self._settings.min_messages:
            return []
        vectors = torch.from_numpy(np.stack([one.vector for one in embedded if one.vector is not None])).to(
            self._device
        )
        edges, weights = knn_graph(vectors, self._settings.neighbours, gamma=self._settings.gamma)
        labels = label_propagation(edges, weights, num_nodes=len(embedded)).tolist()
        found: dict[int, list[Said]] = {}
        for label, one in zip(labels, embedded, strict=True):
            found.setdefault(label, []).append(one)
        large = [group for group in found.values() if len(group) >= self._settings.min_messages]
        return sorted(large, key=lambda group: (-len(group), group[0].seq))


def _speakers(said: Sequence[Said]) -> Mapping[str, list[Said]]:
    """The messages of each person, by the key of the name, "" for messages without one."""
    found: dict[str, list[Said]] = {}
    for one in said:
        found.setdefault(name_key(one.episode.name or ""), []).append(one)
    return found
