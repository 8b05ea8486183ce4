"""A cache of the fact graphs for recent scopes; a user's graphs are reloaded after a write for that user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from nscma_torch.core.database import user_versions
from nscma_torch.core.records import Scope
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.semantic.store import facts as facts_store

if TYPE_CHECKING:
    import torch

_KEPT = 8  # graphs


class FactGraphs:
    """A cache of fact graphs.

    Args:
        device: returns the device for tensors; called when the first tensor is created.
    """

    def __init__(self, schema: Schema, device: Callable[[], torch.device]) -> None:
        self._schema = schema
        self._device = device
        self._graphs: dict[Scope, tuple[tuple[int, int], FactGraph]] = {}

    def forget(self, user_id: str) -> None:
        """Drop a user's graphs."""
        for scope in [scope for scope in list(self._graphs) if scope.user_id == user_id]:
            self._graphs.pop(scope, None)

    def of(self, connection: Connection, scope: Scope) -> FactGraph:
        """Return the graph of all facts in a scope, without a current time: see `FactGraph.at`."""
        version = user_versions.version(connection, scope.user_id)
        known = self._graphs.pop(scope, None)
        if known is None or known[0] != version:
            found = facts_store.select_facts(connection, scope, statuses=("active", "disputed", "archived"))
            known = version, FactGraph(found, self._schema, device=self._device)
        self._graphs[scope] = known  # the newest last
        for oldest in list(self._graphs)[:-_KEPT]:
            self._graphs.pop(oldest, None)
        return known[1]
