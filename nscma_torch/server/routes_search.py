"""Endpoints that look something up: search and ask."""

from __future__ import annotations

from fastapi import APIRouter, Response

from nscma_torch.server.access import Reader
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import AnswerOut, AskBody, HitOut, SearchBody

router = APIRouter(prefix="/v1", tags=["search"])
_SCOPE = frozenset({"user_id", "agent_id", "run_id"})


@router.post("/search", operation_id="search", response_model=list[HitOut])
async def search(body: SearchBody, asker: Reader, here: Here) -> Response:
    """The stored units that fit the query best, best first."""
    scope = body.scope(asker)

    def found() -> list[HitOut]:
        options = body.model_dump(exclude={"query", *_SCOPE})
        return [HitOut.of(hit) for hit in here.memory.search(body.query, **scope, **options)]

    return await here.work.json(list[HitOut], found)


@router.post("/ask", operation_id="ask", response_model=AnswerOut)
async def ask(body: AskBody, asker: Reader, here: Here) -> Response:
    """Answer from the facts, else from one retrieval, with evidence; or say that the memory does not know."""
    scope = body.scope(asker)

    def answered() -> AnswerOut:
        options = body.model_dump(exclude={"question", "follows", *_SCOPE})
        return AnswerOut.of(here.memory.ask(body.question, **scope, **options, follows=body.before()))

    return await here.work.json(AnswerOut, answered)
