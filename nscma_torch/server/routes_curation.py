"""Endpoints that keep a user's memory in order: the curator's decisions, sleep, erasure, and what is done again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.core.records import CuratorDecision, EraseReceipt, SleepReport
from nscma_torch.server.access import Eraser, Reader, Writer
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import (
    Count,
    Counted,
    Digest,
    EraseBody,
    OfAgent,
    OfUser,
    RedecisionOut,
    ReplayBody,
    ReplayOut,
    SleepBody,
    UserStats,
)

router = APIRouter(prefix="/v1", tags=["curation"])


class Decisions(OfAgent):
    """The curator's decisions."""

    limit: Count | None = 100


@router.get("/decisions", operation_id="decisions", response_model=list[CuratorDecision])
async def decisions(asked: Annotated[Decisions, Query()], asker: Reader, here: Here) -> Response:
    """List the curator's decisions, newest first."""
    scope = asked.scope(asker)
    return await here.work.json(list[CuratorDecision], here.memory.decisions, **scope, limit=asked.limit)


@router.post("/decisions/{decision_id}/undo", operation_id="undo", response_model=CuratorDecision)
async def undo(decision_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Take a decision of the curator back."""
    return await here.work.json(CuratorDecision, here.memory.undo, decision_id, user_id=asked.user(asker))


@router.post("/decisions/{proposal_id}/merge", operation_id="merge", response_model=CuratorDecision)
async def merge(proposal_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Follow a proposal that two names mean one entity; `undo` parts them again."""
    return await here.work.json(CuratorDecision, here.memory.merge, proposal_id, user_id=asked.user(asker))


@router.post("/sleep", operation_id="sleep", response_model=SleepReport)
async def sleep(body: SleepBody, asker: Writer, here: Here) -> Response:
    """Catch up on what was deferred, settle disputes, forget, promote, renew summaries and the profile."""
    user = body.user(asker)
    return await here.slow.json(SleepReport, here.memory.sleep, user_id=user, now=body.now, dry_run=body.dry_run)


@router.post("/replay", operation_id="replay", response_model=ReplayOut)
async def replay(body: ReplayBody, asker: Reader, here: Here) -> Response:
    """Decide the log again under other gate settings; `dry_run` false replaces the decisions and needs `write`."""
    if not body.dry_run:
        asker.need("write")
    scope = body.scope(asker)

    def decided() -> ReplayOut:
        try:
            number, changed = here.memory.replay(**scope, gate=body.gate, dry_run=body.dry_run)
        except ConfigError as error:  # the keys are the asker's, not those of the server
            raise InvalidInputError(f"gate: {error}") from error
        others = [RedecisionOut.model_construct(episode=one.episode, decision=one.decision) for one in changed]
        return ReplayOut.model_construct(decided=number, changed=others)

    return await here.slow.json(ReplayOut, decided)


@router.post("/reextract", operation_id="reextract", response_model=Counted)
async def reextract(body: OfAgent, asker: Writer, here: Here) -> Response:
    """Queue what was read for facts to be read again."""
    scope = body.scope(asker)
    return await here.slow.json(Counted, lambda: Counted(count=here.memory.reextract(**scope)))


@router.post("/rebuild", operation_id="rebuild", response_model=Counted)
async def rebuild(body: OfAgent, asker: Writer, here: Here) -> Response:
    """Forget a hierarchy and queue its messages for a new one."""
    scope = body.scope(asker)
    return await here.slow.json(Counted, lambda: Counted(count=here.memory.rebuild(**scope)))


@router.get("/stats", operation_id="stats", response_model=UserStats)
async def stats(asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """Counts of a user."""
    user = asked.user(asker)
    return await here.work.json(UserStats, lambda: UserStats.of(here.memory.stats(user_id=user)))


@router.get("/digest", operation_id="digest", response_model=Digest)
async def digest(asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """SHA-256 over the logical state of a user."""
    user = asked.user(asker)
    return await here.slow.json(Digest, lambda: Digest(digest=here.memory.digest(user_id=user)))


@router.post("/erase", operation_id="erase", response_model=EraseReceipt)
async def erase(body: EraseBody, asker: Eraser, here: Here) -> Response:
    """Delete a message, a skill or all of a user for real, and search the files for what went. There is no way back."""
    user, what = body.user(asker), {"memory_id": body.memory_id, "skill_id": body.skill_id}
    return await here.slow.json(EraseReceipt, lambda: here.memory.erase(user_id=user, **what))
