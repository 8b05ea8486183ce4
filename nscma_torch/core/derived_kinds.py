"""Kinds of texts that sleep derives, in order: each kind may be based on the kinds before it.

To add a kind, add a line here, a file with its name in `nscma_torch/curator/derived/`, its configuration and its task
(see docs/extending.md). Storage, search, erasure, the server and the command line take every kind from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType

#: By kind the configuration key that switches it on: a flag, or a list that names the kind.
DERIVED_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "insight": "insights.enabled",
        "daily_summary": "daily.summaries",
        "global_summary": "daily.summaries",
        "daily_insight": "daily.portrait",
        "portrait": "daily.portrait",
        "reflection": "reflection.enabled",
        "qa_pair": "question_pairs.enabled",
        "document_summary": "facts.units",
    }
)


def is_derived(config: object, kind: str) -> bool:
    """Return True if sleep derives texts of this kind with the given configuration."""
    value = attrgetter(DERIVED_KINDS[kind])(config)
    return value if isinstance(value, bool) else kind in value
