"""Procedural memory: named skills, found by the similarity of their trigger to the situation (in the spirit of
Voyager).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal

import numpy as np

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import InvalidInputError, StoreBusyError
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Scope
from nscma_torch.core.skill import FoundSkill, Skill
from nscma_torch.episodic.index import fingerprint, packed_vectors
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.episodic.log import episodes, streams, turns
from nscma_torch.features.skills import rows as skills
from nscma_torch.hierarchy.summaries import UnitMaker
from nscma_torch.text.embedders.query_vector import query_vector
from nscma_torch.text.surrogates import refuse_surrogates


class Skills:
    """The skills in a store.

    Args:
        units: builds the units by which search finds skills.
    """

    def __init__(self, database: Database, embedder: Embedder, units: UnitMaker) -> None:
        self._database = database
        self._embedder = embedder
        self._units = units

    def add(self, scope: Scope, name: str, trigger: str, steps: Sequence[str], *, at: datetime) -> Skill:
        """Store a skill: `trigger` describes when it helps, `steps` how to do it. An existing skill with this name is
        replaced, but keeps its outcomes.

        Raises `InvalidInputError` for an empty name, trigger or step.
        """
        when = to_micros(at)
        new = self._made(scope, name, trigger, steps, when)
        with self._database.write(scope.user_id) as connection:
            fingerprint.bind(connection, self._units.fingerprint)
            streams.touch_user(connection, scope.user_id)
            return skills.put(connection, scope, name, trigger, steps, new, when)

    def learn(
        self,
        scope: Scope,
        name: str,
        trigger: str,
        steps: Sequence[str],
        *,
        behind: Collection[str],
        epoch: int,
        at: datetime,
    ) -> Skill | None:
        """Store a skill written from messages (ids); deleting any of them deletes the skill.

        It replaces a skill with the same name, unless that skill was written by the user or is archived; in this case
        nothing is stored, and None is returned. Raises `StoreBusyError` if messages changed since writing began, at the
        user's `epoch`.
        """
        when = to_micros(at)
        new = self._made(scope, name, trigger, steps, when)
        with self._database.write(scope.user_id) as connection:
            if skills.is_kept(connection, scope, name):
                return None
            changed = user_versions.version(connection, scope.user_id)[1] != epoch
            if changed or turns.missing(connection, scope.user_id, behind):
                raise StoreBusyError("messages changed while a skill was written from them; try again")
            fingerprint.bind(connection, self._units.fingerprint)
            streams.touch_user(connection, scope.user_id)
            rows = [episodes.require(connection, scope.user_id, one)[0] for one in behind]
            return skills.put(connection, scope, name, trigger, steps, new, when, behind=rows)

    def _made(self, scope: Scope, name: str, trigger: str, steps: Sequence[str], when: int) -> list[NewUnit]:
        """Build the units for a skill. Raises `InvalidInputError` for an empty name, trigger or step."""
        if not all(isinstance(text, str) and text.strip() for text in (name, trigger)):
            raise InvalidInputError("a skill needs a name and a trigger (when it helps)")
        listed = isinstance(steps, Sequence) and not isinstance(steps, str) and len(steps) > 0
        if not listed or not all(isinstance(step, str) and step.strip() for step in steps):
            raise InvalidInputError(f"the steps of skill {name!r} must be a list of texts, none of them empty")
        refuse_surrogates((name, trigger, steps), "the skill")
        (new,) = self._units.units("skill", [f"{name}: {trigger}"], [skills.origin(scope, name, when)])
        return new

    def find(self, scope: Scope, situation: str, *, top_k: int = 5) -> list[FoundSkill]:
        """Return the skills in a scope with the triggers that best match the situation, best first; more successful
        skills win ties.
        """
        asked = query_vector(self._embedder, situation).cpu().numpy()
        with self._database.read(scope.user_id) as connection:
            own = {skill.id: skill for skill in skills.select_skills(connection, scope)}
            parts = skills.units_of(connection, scope.user_id)
            vectors = packed_vectors.vectors_of(connection, [seq for seq, key in parts if key in own])
        best: dict[str, float] = {}
        for seq, key in parts:
            if seq in vectors:
                best[key] = max(float(np.dot(vectors[seq], asked)), best.get(key, -1.0))
        found = [FoundSkill(own[key], similarity) for key, similarity in best.items()]
        return sorted(found, key=lambda one: (-one.similarity, -success(one.skill), one.skill.name))[:top_k]

    def outcome(self, user_id: str, skill_id: str, *, success: bool, at: datetime) -> Skill:
        """Count the outcome of one use. Raises `NotFoundError` for an unknown id."""
        with self._database.write(user_id) as connection:
            skill = skills.note_outcome(connection, user_id, skill_id, success=success, at=to_micros(at))
            streams.touch_user(connection, user_id)
        return skill

    def set_status(self, user_id: str, skill_id: str, status: Literal["active", "archived"], *, at: datetime) -> Skill:
        """Archive a skill to hide it from search, or restore it. Raises `NotFoundError` for an unknown id."""
        with self._database.write(user_id) as connection:
            skill = skills.set_status(connection, user_id, skill_id, status, to_micros(at))
            streams.touch_user(connection, user_id)
        return skill


def success(skill: Skill) -> float:
    """Estimate, from its outcomes, the probability that a skill works (Laplace's rule of succession); 1/2 if unused."""
    return (skill.successes + 1) / (skill.successes + skill.failures + 2)
