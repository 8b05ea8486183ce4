"""Endpoints for skills: how something is done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from nscma_torch.features.skills.rows import Skill
from nscma_torch.server.access import Reader, Writer
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import OfAgent, OfUser, OutcomeBody, SituationBody, SkillBody

router = APIRouter(prefix="/v1/skills", tags=["skills"])


class Skills(OfAgent):
    """The skills of an agent, or of none."""

    archived: bool = False


class FoundSkillOut(BaseModel):
    """A skill, and how much it is like the situation: the cosine, in [-1, 1]."""

    skill: Skill
    similarity: float


@router.post("", operation_id="add_skill", response_model=Skill)
async def add_skill(body: SkillBody, asker: Writer, here: Here) -> Response:
    """Store how something is done; a skill of the same name is replaced."""
    scope, trigger, steps = body.scope(asker), body.trigger, body.steps
    return await here.work.json(Skill, here.memory.add_skill, body.name, trigger=trigger, steps=steps, **scope)


@router.get("", operation_id="skills", response_model=list[Skill])
async def skills(asked: Annotated[Skills, Query()], asker: Reader, here: Here) -> Response:
    """Skills in the order they were added."""
    return await here.work.json(list[Skill], here.memory.skills, **asked.scope(asker), archived=asked.archived)


@router.post("/find", operation_id="find_skills", response_model=list[FoundSkillOut])
async def find_skills(body: SituationBody, asker: Reader, here: Here) -> Response:
    """The skills whose trigger is most like the situation, best first."""
    scope = body.scope(asker)

    def found() -> list[FoundSkillOut]:
        skills = here.memory.find_skills(body.situation, **scope, top_k=body.top_k)
        return [FoundSkillOut.model_construct(**one._asdict()) for one in skills]

    return await here.work.json(list[FoundSkillOut], found)


@router.post("/{skill_id}/outcome", operation_id="skill_outcome", response_model=Skill)
async def skill_outcome(skill_id: str, body: OutcomeBody, asker: Writer, here: Here) -> Response:
    """Count how a use of a skill went."""
    user = body.user(asker)
    return await here.work.json(Skill, here.memory.skill_outcome, skill_id, user_id=user, success=body.success)


@router.post("/{skill_id}/archive", operation_id="archive_skill", response_model=Skill)
async def archive_skill(skill_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Hide a skill from every search."""
    return await here.work.json(Skill, here.memory.archive_skill, skill_id, user_id=asked.user(asker))


@router.post("/{skill_id}/restore", operation_id="restore_skill", response_model=Skill)
async def restore_skill(skill_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Bring an archived skill back."""
    return await here.work.json(Skill, here.memory.restore_skill, skill_id, user_id=asked.user(asker))
