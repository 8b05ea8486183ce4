"""Insights about a user: clusters of similar messages, each summarized in dated lines with confidence and sources.

ChatGPT's "user insights" are described as follows (notes on context memory, ChatGPT, 2.3): a weekly batch clusters a
user's messages by their embeddings (k nearest neighbours), and each cluster's texts are summarized. Here, clusters are
communities in the nearest-neighbour graph, built separately for each person with the role "user".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import torch
from sqlalchemy import Connection

from nscma_kernels.knn_graph import knn_graph
from nscma_kernels.label_propagation import label_propagation
from nscma_torch.core.config import InsightsConfig
from nscma_torch.core.database.clock import from_micros
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, DuePart
from nscma_torch.curator.derived.groups import by_person
from nscma_torch.curator.derived.sourced_texts import Groups, LineTask, first_of_each_wording, written
from nscma_torch.curator.store import derived_sources, derived_texts
from nscma_torch.curator.store.derived_sources import Heard, Source, basis_of, heard
from nscma_torch.curator.store.derived_texts import NewText, Part
from nscma_torch.semantic.store import namespaces


def deriver(needs: DeriverContext) -> Deriver:
    """Derive insights as configured in `[insights]`."""
    return Insights(needs.line_task("insight"), needs.config.insights, needs.device())


class Insights:
    """Derives insights.

    Args:
        device: the device for clustering.
    """

    def __init__(self, task: LineTask, settings: InsightsConfig, device: torch.device) -> None:
        self._task = task
        self._settings = settings
        self._device = device

    in_turn = False

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[DuePart]:
        """Return one part for each person whose messages changed since the last run, once the days of those messages
        are over.
        """
        parts = []
        runs = derived_texts.runs(connection, namespace, "insight")
        for person, said in by_person(heard(connection, namespace, now, roles=("user",))).items():
            basis, last = basis_of(said), runs.get(person)
            young = last is not None and now - from_micros(last.made_at) < timedelta(days=self._settings.days)
            if young or (last is not None and last.basis == basis):
                continue
            parts.append(DuePart(Part(namespace, "insight", person), basis, partial(self._clusters, namespace, said)))
        return parts

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Derive insights from each cluster, largest clusters first; keep only one insight per wording."""
        most = self._settings.most
        return [first_of_each_wording(texts)[:most] for texts in written(self._task, parts)]

    def _clusters(self, namespace: str, said: Sequence[Heard], connection: Connection) -> list[list[Source]]:
        """Return the communities of similar messages, largest first."""
        vectors = derived_sources.vectors(connection, [one.seq for one in said])
        if len(vectors) < self._settings.min_messages:
            return []
        seqs = [one.seq for one in said if one.seq in vectors]
        stacked = torch.from_numpy(np.stack([vectors[seq] for seq in seqs])).to(self._device)
        edges, weights = knn_graph(stacked, self._settings.neighbours, gamma=self._settings.gamma)
        labels = label_propagation(edges, weights, num_nodes=len(seqs)).tolist()
        user_id = namespaces.owner(connection, namespace).user_id
        found: dict[int, list[Source]] = {}
        for label, source in zip(labels, derived_sources.messages(connection, user_id, seqs), strict=True):
            found.setdefault(label, []).append(source)
        large = [group for group in found.values() if len(group) >= self._settings.min_messages]
        return sorted(large, key=lambda group: -len(group))  # as many: the one that began first
