"""Retrieve skills and helpful exchanges similar to the current turn, for a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nscma_torch.api.memory import Memory
from nscma_torch.controller.examples import Example, examples
from nscma_torch.controller.working_memory import WorkingMemory
from nscma_torch.core.config import Controller
from nscma_torch.core.records import Scope
from nscma_torch.curator.store import derived_texts
from nscma_torch.features.skills.rows import Skill


@dataclass(frozen=True, slots=True)
class Experience:
    """Skills and examples, the most alike first; `sources` are ids of the messages that were in view of them."""

    skills: tuple[Skill, ...] = ()
    examples: tuple[Example, ...] = ()
    sources: tuple[str, ...] = ()


def recalled(
    memory: Memory, scope: Scope, said: str, working: WorkingMemory, settings: Controller, now: datetime
) -> Experience:
    """Return the experience that the settings ask for.

    A skill that failed more often than it worked is left out.
    """
    skills: list[Skill] = []
    sources: list[str] = []
    if settings.skills:
        found = memory.components.skills.find(scope, said, top_k=2 * settings.skills)
        fit = [one.skill for one in found if one.similarity >= settings.least_alike]
        skills = [skill for skill in fit if skill.failures <= skill.successes][: settings.skills]
        with memory.components.database.read(scope.user_id) as connection:
            sources += derived_texts.in_view_of(connection, [skill.id for skill in skills])
    shown: tuple[Example, ...] = ()
    if settings.examples:
        in_view = frozenset(reply.id for exchange in working.context for reply in exchange.replies)
        least, most = settings.least_alike, settings.examples
        shown = examples(memory, scope, said, now=now, most=most, least=least, in_view=in_view)
    sources += [source for example in shown for source in example.sources]
    return Experience(tuple(skills), shown, tuple(dict.fromkeys(sources)))
