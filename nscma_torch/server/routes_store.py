"""Endpoints about the store: a user's export, and with a token for any user all that is about everybody."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from nscma_torch.core.records import SleepReport, Stats
from nscma_torch.server.access import Eraser, Reader, Writer
from nscma_torch.server.app_context import Context
from nscma_torch.server.exports import exported, imported
from nscma_torch.server.ndjson import MEDIA_TYPE
from nscma_torch.server.schemas import CountOut, DigestOut, ProblemsOut, StoreSleepBody, UserParams

router = APIRouter(prefix="/v1", tags=["store"])
IMPORT = "/v1/store/import"
_LINES: dict[int | str, dict[str, object]] = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}


@router.get("/export", operation_id="export", responses=_LINES, response_class=StreamingResponse)
async def export(asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> StreamingResponse:
    """All of a user as JSON lines."""
    return await exported(context, asked.user(caller))


@router.get("/store/export", operation_id="export_store", responses=_LINES, response_class=StreamingResponse)
async def export_store(caller: Reader, context: Context) -> StreamingResponse:
    """The whole store as JSON lines."""
    caller.any_user()
    return await exported(context, None)


@router.post(
    "/store/import",
    operation_id="import",
    response_model=CountOut,
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def import_(request: Request, caller: Writer, context: Context) -> CountOut:
    """Read an export, all of it or nothing; answers the number of rows."""
    caller.any_user()
    return CountOut(count=await imported(context, request))


@router.get("/store/stats", operation_id="stats_of_store", response_model=Stats)
async def stats(asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """Counts of the whole store, or of the user who is named, with failed jobs and the background worker."""
    caller.any_user()
    return await context.work.json(Stats, context.memory.stats, user_id=asked.user_id)


@router.get("/store/digest", operation_id="digest_of_store", response_model=DigestOut)
async def digest(caller: Reader, context: Context) -> Response:
    """SHA-256 over the logical state of the store."""
    caller.any_user()
    return await context.slow.json(DigestOut, lambda: DigestOut(digest=context.memory.digest()))


@router.get("/store/verify", operation_id="verify", response_model=ProblemsOut)
async def verify(caller: Reader, context: Context) -> Response:
    """Return the store's problems; none if every index equals its rows."""
    caller.any_user()
    return await context.slow.json(ProblemsOut, lambda: ProblemsOut(problems=context.memory.verify()))


@router.post("/store/sleep", operation_id="sleep_all", response_model=SleepReport)
async def sleep(body: StoreSleepBody, caller: Writer, context: Context) -> Response:
    """Sleep for every user."""
    caller.any_user()
    return await context.slow.json(SleepReport, context.memory.sleep, now=body.now, dry_run=body.dry_run)


@router.post("/store/flush", operation_id="flush", response_model=CountOut)
async def flush(caller: Writer, context: Context) -> Response:
    """Have all background work done; answers how many jobs this call ran."""
    caller.any_user()
    return await context.slow.json(CountOut, lambda: CountOut(count=context.memory.flush(progress=context.go_on)))


@router.post("/store/retry", operation_id="retry_failed", response_model=CountOut)
async def retry_failed(caller: Writer, context: Context) -> Response:
    """Queue failed jobs again."""
    caller.any_user()
    return await context.work.json(CountOut, lambda: CountOut(count=context.memory.retry_failed()))


@router.post("/store/reembed", operation_id="reembed", response_model=CountOut)
async def reembed(caller: Writer, context: Context) -> Response:
    """Replace all vectors by those of the configured embedder; all of them or none."""
    caller.any_user()
    return await context.slow.json(CountOut, lambda: CountOut(count=context.memory.reembed(progress=context.go_on)))


@router.post("/store/reset", operation_id="reset", status_code=204, response_class=Response)
async def reset(caller: Eraser, context: Context) -> Response:
    """Erase every user of the store. There is no way back."""
    caller.any_user()
    await context.slow.run(context.memory.reset)
    return Response(status_code=204)
