"""What shapes the hierarchy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CamSettings:
    """Settings of CAM.

    Attributes:
        neighbours: k of the foundational network: edges that a new chunk draws (CAM equation 2).
        alpha: weight of the cosine similarity; 1 - alpha weighs the distance within a stream.
        sigma: width of the positional term, in chunks.
        gamma: score above which two chunks are joined.
        links: edges that a cluster draws on the levels above.
        overlapping: ego-splitting, so that a node may belong to several clusters; without it each belongs to one.
        max_levels: levels of clusters above the chunks; 0 keeps the foundational network alone.
        min_members: nodes below which a cluster gets no summary; two are an edge in no triangle, not a topic.
        max_members: nodes above which a cluster is split.
    """

    neighbours: int = 4
    alpha: float = 0.8
    sigma: float = 2.0
    gamma: float = 0.2
    links: int = 12
    overlapping: bool = True
    max_levels: int = 8
    min_members: int = 3
    max_members: int = 24
