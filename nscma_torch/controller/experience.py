"""Retrieve skills relevant to the current turn, for a prompt."""

from __future__ import annotations

from dataclasses import dataclass

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ControllerConfig
from nscma_torch.core.records import Scope
from nscma_torch.core.skill import Skill
from nscma_torch.curator.store import derived_texts


@dataclass(frozen=True, slots=True)
class Experience:
    """Skills, best match first. `sources` are the ids of messages that were visible when the skills were written."""

    skills: tuple[Skill, ...] = ()
    sources: tuple[str, ...] = ()


def recalled(memory: Memory, scope: Scope, said: str, settings: ControllerConfig) -> Experience:
    """Return at most `controller.skills` skills, omitting skills that failed more often than they worked."""
    if not settings.skills:
        return Experience()
    found = memory.components.skills.find(scope, said, top_k=2 * settings.skills)
    fit = [one.skill for one in found if one.similarity >= settings.least_alike]
    skills = [skill for skill in fit if skill.failures <= skill.successes][: settings.skills]
    with memory.components.database.read(scope.user_id) as connection:
        sources = derived_texts.in_view_of(connection, [skill.id for skill in skills])
    return Experience(tuple(skills), tuple(dict.fromkeys(sources)))
