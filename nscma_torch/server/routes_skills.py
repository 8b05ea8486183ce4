"""Endpoints for skills: how something is done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from nscma_torch.features.skills.rows import Skill
from nscma_torch.server.access import Reader, Writer
from nscma_torch.server.app_context import Context
from nscma_torch.server.schemas import AgentParams, OutcomeBody, SituationBody, SkillBody, UserParams

router = APIRouter(prefix="/v1/skills", tags=["skills"])


class SkillsParams(AgentParams):
    """The skills of an agent, or of none."""

    archived: bool = False


class FoundSkillOut(BaseModel):
    """A skill, and how much it is like the situation: the cosine, in [-1, 1]."""

    skill: Skill
    similarity: float


@router.post("", operation_id="add_skill", response_model=Skill)
async def add_skill(body: SkillBody, caller: Writer, context: Context) -> Response:
    """Store how something is done; a skill of the same name is replaced."""
    scope, trigger, steps = body.scope(caller), body.trigger, body.steps
    return await context.work.json(Skill, context.memory.add_skill, body.name, trigger=trigger, steps=steps, **scope)


@router.get("", operation_id="skills", response_model=list[Skill])
async def skills(asked: Annotated[SkillsParams, Query()], caller: Reader, context: Context) -> Response:
    """Skills in the order they were added."""
    return await context.work.json(list[Skill], context.memory.skills, **asked.scope(caller), archived=asked.archived)


@router.post("/find", operation_id="find_skills", response_model=list[FoundSkillOut])
async def find_skills(body: SituationBody, caller: Reader, context: Context) -> Response:
    """The skills whose trigger is most like the situation, best first."""
    scope = body.scope(caller)

    def found() -> list[FoundSkillOut]:
        skills = context.memory.find_skills(body.situation, **scope, top_k=body.top_k)
        return [FoundSkillOut.model_construct(**one._asdict()) for one in skills]

    return await context.work.json(list[FoundSkillOut], found)


@router.post("/{skill_id}/outcome", operation_id="skill_outcome", response_model=Skill)
async def skill_outcome(skill_id: str, body: OutcomeBody, caller: Writer, context: Context) -> Response:
    """Count how a use of a skill went."""
    user = body.user(caller)
    return await context.work.json(Skill, context.memory.skill_outcome, skill_id, user_id=user, success=body.success)


@router.post("/{skill_id}/archive", operation_id="archive_skill", response_model=Skill)
async def archive_skill(
    skill_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context
) -> Response:
    """Hide a skill from every search."""
    return await context.work.json(Skill, context.memory.archive_skill, skill_id, user_id=asked.user(caller))


@router.post("/{skill_id}/restore", operation_id="restore_skill", response_model=Skill)
async def restore_skill(
    skill_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context
) -> Response:
    """Bring an archived skill back."""
    return await context.work.json(Skill, context.memory.restore_skill, skill_id, user_id=asked.user(caller))
