"""All tables of a store: each capability declares its own, in one of the modules named here."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from sqlalchemy import MetaData

from nscma_torch.core.database.schema import metadata

MODULES = (
    "nscma_torch.episodic.index.unit_schema",
    "nscma_torch.hierarchy.store.hierarchy_schema",
    "nscma_torch.semantic.store.fact_schema",
    "nscma_torch.curator.store.derived_schema",
    "nscma_torch.features.records.record_schema",
)


@cache
def all_tables() -> MetaData:
    """The tables of every capability."""
    for module in MODULES:
        import_module(module)
    return metadata
