"""A skill as returned by the memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from nscma_torch.core.records import Scope


@dataclass(frozen=True, slots=True)
class Skill:
    """A named skill: `trigger` describes when to use it and `steps` how; `skill_outcome` counts its outcomes."""

    id: str
    scope: Scope
    name: str
    trigger: str
    steps: tuple[str, ...]
    successes: int
    failures: int
    recorded_at: datetime
    updated_at: datetime
    status: Literal["active", "archived"] = "active"

    @property
    def text(self) -> str:
        """Return the text of the skill's units, through which searches find it."""
        return f"{self.name}: {self.trigger}"


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill and its cosine similarity to the query, in [-1, 1]."""

    skill: Skill
    similarity: float
