"""Apply feedback on a reply: count it and, after a success, write the steps as a skill.

This follows Voyager (Wang et al. 2023), in which an agent adds the program for a solved task to a library of skills,
and searches the library by similarity to a new task. Here, a skill lists steps in words, derived from the actions
taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from nscma_torch.api.memory import Memory
from nscma_torch.controller.policy import Policy, Solved
from nscma_torch.controller.trace import ControllerAnswer
from nscma_torch.core.capabilities import installed
from nscma_torch.core.config import ControllerConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.optional_parts import SkillRows
from nscma_torch.core.records import Scope, Usage
from nscma_torch.core.skill import Skill
from nscma_torch.curator.feedback import take_feedback, withdraw_feedback
from nscma_torch.episodic.log import episodes, streams
from nscma_torch.episodic.log.turns import EVIDENCE, RATED
from nscma_torch.text.files.json_messages import metadata_json


@dataclass(frozen=True, slots=True)
class Learnt:
    """The result of feedback: the skill that was written, or None, and the `reason` in words."""

    skill: Skill | None
    reason: str
    usage: Usage = field(default_factory=Usage)


def learn(
    memory: Memory,
    scope: Scope,
    policy: Policy,
    answer: ControllerAnswer,
    settings: ControllerConfig,
    *,
    helpful: bool,
    now: datetime,
) -> Learnt:
    """Count the feedback on a reply, for its citations and the skills shown for it, and write a skill.

    Feedback counts once per reply, even if given repeatedly, and newer feedback replaces earlier feedback: the recalls,
    importance and outcomes counted for the earlier feedback are undone, and a skill written after it is deleted.
    Repeated positive feedback writes a skill only if none was written before.

    Raises:
        NotFoundError: the turn was not stored, or its reply is hidden or gone; nothing was counted.
        EngineError: the engine failed while a skill was written; the feedback is counted.
        StoreBusyError: messages were changed in the meantime; the feedback is counted, but no skill is stored.
    """
    user, parts = scope.user_id, memory.components
    with parts.database.read(user) as connection:
        epoch = user_versions.version(connection, user)[1]
    turn, reply = (memory.get(one, user_id=user, now=now) if one else None for one in (answer.turn_id, answer.reply_id))
    if turn is None or reply is None:
        raise NotFoundError("feedback needs a reply from `turn` that still exists; ask again first")
    known = {one.id for one in memory.skills(user_id=user, agent_id=scope.agent_id)} if answer.skills else ()
    shown = [key for key in answer.skills if key in known]
    cited = [source for item in answer.evidence for source in item.hit.unit.episode_ids]
    new, written = _count(memory, user, reply.id, cited, shown, helpful=helpful, now=now)
    counted = "counted" if new else "counted before"
    if not helpful or not settings.write_skills or written:
        return Learnt(None, counted)
    if shown:
        return Learnt(None, f"{counted}; {len(shown)} skills were shown, so none was written")
    taken = [step for step in answer.steps if not step.refused]
    if not taken:
        return Learnt(None, f"{counted}; nothing was looked up, so there is nothing to learn from")
    solved = Solved(turn.text, tuple(map(str, taken)), frozenset(step.action for step in taken), reply.text)
    draft, usage = policy.write_skill(solved)
    if draft is None:
        return Learnt(None, f"{counted}; {policy.name} wrote no skill", usage)
    behind = {turn.id, reply.id, *_ids(reply.metadata.get(EVIDENCE))}
    skill = parts.skills.learn(scope, draft.name, draft.trigger, draft.steps, behind=behind, epoch=epoch, at=now)
    if skill is None:
        return Learnt(None, f"{counted}; a skill named {draft.name!r} is yours or archived; left unchanged", usage)
    return Learnt(skill, f"{counted}; wrote skill {draft.name!r}", usage)


def _count(
    memory: Memory,
    user: str,
    reply_id: str,
    cited: Sequence[str],
    shown: Sequence[str],
    *,
    helpful: bool,
    now: datetime,
) -> tuple[bool, bool]:
    """Replace any earlier feedback on the reply, in one transaction.

    Returns two booleans: whether the feedback differs from the earlier one, and whether a skill written after the
    earlier one exists.
    """
    settings, skills = memory.config.curator, _skill_rows()
    with memory.components.database.write(user) as connection:
        seq, reply = episodes.require(connection, user, reply_id)
        former = reply.metadata.get(RATED)
        if former == helpful:
            return False, bool(skills and skills.written_after(connection, seq))
        there = [one for one in dict.fromkeys(cited) if one != reply_id and episodes.find(connection, user, one)]
        if former is not None:
            for one in (reply_id, *(there if former else ())):
                withdraw_feedback(connection, user, one, helpful=former, at=now, promotion=settings.promotion)
            if skills:
                for key in shown:
                    skills.note_outcome(connection, user, key, success=former, at=to_micros(now), withdrawn=True)
                for key in skills.written_after(connection, seq):
                    skills.remove(connection, key)
        for one in (reply_id, *(there if helpful else ())):
            take_feedback(connection, user, one, helpful=helpful, at=now, timed=settings.restarts)
        if skills:
            for key in shown:
                skills.note_outcome(connection, user, key, success=helpful, at=to_micros(now))
        episodes.set_columns(connection, seq, metadata=metadata_json({**reply.metadata, RATED: helpful}))
        streams.touch_user(connection, user)
    return True, False


def _skill_rows() -> SkillRows | None:
    """Return the storage for skills, or None if skills are not installed."""
    found = installed("skills")
    return None if found is None else found.rows


def _ids(value: object) -> Sequence[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
