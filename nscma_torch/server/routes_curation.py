"""Endpoints that keep a user's memory in order: the curator's decisions, sleep, erasure, and what is done again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.core.records import CuratorDecision, EraseReceipt, SleepReport
from nscma_torch.server.access import Eraser, Reader, Writer
from nscma_torch.server.app_context import Context
from nscma_torch.server.schemas import (
    AgentParams,
    Count,
    CountOut,
    DigestOut,
    EraseBody,
    RedecisionOut,
    ReplayBody,
    ReplayOut,
    SleepBody,
    UserParams,
    UserStats,
)

router = APIRouter(prefix="/v1", tags=["curation"])


class DecisionsParams(AgentParams):
    """The curator's decisions."""

    limit: Count | None = 100


@router.get("/decisions", operation_id="decisions", response_model=list[CuratorDecision])
async def decisions(asked: Annotated[DecisionsParams, Query()], caller: Reader, context: Context) -> Response:
    """List the curator's decisions, newest first."""
    scope = asked.scope(caller)
    return await context.work.json(list[CuratorDecision], context.memory.decisions, **scope, limit=asked.limit)


@router.post("/decisions/{decision_id}/undo", operation_id="undo", response_model=CuratorDecision)
async def undo(decision_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context) -> Response:
    """Take a decision of the curator back."""
    return await context.work.json(CuratorDecision, context.memory.undo, decision_id, user_id=asked.user(caller))


@router.post("/decisions/{proposal_id}/merge", operation_id="merge", response_model=CuratorDecision)
async def merge(proposal_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context) -> Response:
    """Follow a proposal that two names mean one entity; `undo` parts them again."""
    return await context.work.json(CuratorDecision, context.memory.merge, proposal_id, user_id=asked.user(caller))


@router.post("/sleep", operation_id="sleep", response_model=SleepReport)
async def sleep(body: SleepBody, caller: Writer, context: Context) -> Response:
    """Catch up on what was deferred, settle disputes, forget, promote, renew summaries and the profile."""
    user = body.user(caller)
    return await context.slow.json(SleepReport, context.memory.sleep, user_id=user, now=body.now, dry_run=body.dry_run)


@router.post("/replay", operation_id="replay", response_model=ReplayOut)
async def replay(body: ReplayBody, caller: Reader, context: Context) -> Response:
    """Decide the log again under other gate settings; `dry_run` false replaces the decisions and needs `write`."""
    if not body.dry_run:
        caller.need("write")
    scope = body.scope(caller)

    def decided() -> ReplayOut:
        try:
            number, changed = context.memory.replay(**scope, gate=body.gate, dry_run=body.dry_run)
        except ConfigError as error:  # the keys are the asker's, not those of the server
            raise InvalidInputError(f"gate: {error}") from error
        others = [RedecisionOut.model_construct(episode=one.episode, decision=one.decision) for one in changed]
        return ReplayOut.model_construct(decided=number, changed=others)

    return await context.slow.json(ReplayOut, decided)


@router.post("/reextract", operation_id="reextract", response_model=CountOut)
async def reextract(body: AgentParams, caller: Writer, context: Context) -> Response:
    """Queue what was read for facts to be read again."""
    scope = body.scope(caller)
    return await context.slow.json(CountOut, lambda: CountOut(count=context.memory.reextract(**scope)))


@router.post("/rebuild", operation_id="rebuild", response_model=CountOut)
async def rebuild(body: AgentParams, caller: Writer, context: Context) -> Response:
    """Forget a hierarchy and queue its messages for a new one."""
    scope = body.scope(caller)
    return await context.slow.json(CountOut, lambda: CountOut(count=context.memory.rebuild(**scope)))


@router.get("/stats", operation_id="stats", response_model=UserStats)
async def stats(asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """Counts of a user."""
    user = asked.user(caller)
    return await context.work.json(UserStats, lambda: UserStats.of(context.memory.stats(user_id=user)))


@router.get("/digest", operation_id="digest", response_model=DigestOut)
async def digest(asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """SHA-256 over the logical state of a user."""
    user = asked.user(caller)
    return await context.slow.json(DigestOut, lambda: DigestOut(digest=context.memory.digest(user_id=user)))


@router.post("/erase", operation_id="erase", response_model=EraseReceipt)
async def erase(body: EraseBody, caller: Eraser, context: Context) -> Response:
    """Delete a message, a skill or all of a user for real, and search the files for what went. There is no way back."""
    user, what = body.user(caller), {"memory_id": body.memory_id, "skill_id": body.skill_id}
    return await context.slow.json(EraseReceipt, lambda: context.memory.erase(user_id=user, **what))
