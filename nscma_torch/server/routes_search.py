"""Endpoints that look something up: search and ask."""

from __future__ import annotations

from fastapi import APIRouter, Response

from nscma_torch.server.access import Reader
from nscma_torch.server.app_context import Context
from nscma_torch.server.schemas import AnswerOut, AskBody, HitOut, SearchBody

router = APIRouter(prefix="/v1", tags=["search"])
_SCOPE = frozenset({"user_id", "agent_id", "run_id"})


@router.post("/search", operation_id="search", response_model=list[HitOut])
async def search(body: SearchBody, caller: Reader, context: Context) -> Response:
    """The stored units that fit the query best, best first."""
    scope = body.scope(caller)

    def found() -> list[HitOut]:
        options = body.model_dump(exclude={"query", *_SCOPE})
        return [HitOut.of(hit) for hit in context.memory.search(body.query, **scope, **options)]

    return await context.work.json(list[HitOut], found)


@router.post("/ask", operation_id="ask", response_model=AnswerOut)
async def ask(body: AskBody, caller: Reader, context: Context) -> Response:
    """Answer from the facts, else from one retrieval, with evidence; or say that the memory does not know."""
    scope = body.scope(caller)

    def answered() -> AnswerOut:
        options = body.model_dump(exclude={"question", "follows", *_SCOPE})
        return AnswerOut.of(context.memory.ask(body.question, **scope, **options, follows=body.before()))

    return await context.work.json(AnswerOut, answered)
