"""The ways of remembering that CAM's tables compare, and the differences that tell what each part of CAM is worth.

One family has every key as the paper (`configs/papers/cam.toml`), the other the library's defaults. Within a family a
variant changes what it is named after and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eval.systems.options import merged
from nscma_torch import Config, load_config

PAPER = "papers/cam"


@dataclass(frozen=True)
class Variant:
    """A memory of a family.

    Attributes:
        preset: configuration that it starts from, by name; "" for the defaults.
        hierarchy: keys of [hierarchy] that differ. Variants that have the same share a store.
        retrieval: keys of [retrieval] that differ.
    """

    name: str
    preset: str
    hierarchy: Mapping[str, Any] = field(default_factory=dict)
    retrieval: Mapping[str, Any] = field(default_factory=dict)

    def config(self, always: Mapping[str, Any]) -> Config:
        """The configuration with its own keys, under the sections that all variants have."""
        base = load_config(self.preset or None).model_dump()
        own = {"hierarchy": self.hierarchy, "retrieval": self.retrieval}
        return load_config(merged(merged(base, own), always))

    def stores_as(self, other: Variant) -> bool:
        """Whether both can ask one store."""
        return (self.preset, self.hierarchy) == (other.preset, other.hierarchy)


_CHUNKS = {"kinds": ["chunk"]}
_BOTH = {"kinds": ["chunk", "summary"]}
_DISJOINT = {"overlapping": False}

VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant("CAM", PAPER),
        Variant("CAM, chunks alone read", PAPER, retrieval=_CHUNKS),
        Variant("flat chunks", PAPER, retrieval={**_CHUNKS, "strategy": "single-step"}),
        Variant("CAM without overlap", PAPER, _DISJOINT),
        Variant("CAM without hierarchy", PAPER, {"max_levels": 0}),
        Variant("default", ""),
        Variant("default and summaries", "", retrieval=_BOTH),
        Variant("default and summaries, no overlap", "", _DISJOINT, _BOTH),
    )
}

DIFFERENCES: Mapping[str, tuple[str, str]] = {
    "summaries read": ("CAM", "CAM, chunks alone read"),
    "hierarchy": ("CAM", "CAM without hierarchy"),
    "overlap": ("CAM", "CAM without overlap"),
    "CAM, beside flat chunks": ("CAM", "flat chunks"),
    "summaries read, default": ("default and summaries", "default"),
    "overlap, default": ("default and summaries", "default and summaries, no overlap"),
}
