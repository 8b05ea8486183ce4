"""Endpoints about the store: a user's export, and with a token for any user all that is about everybody."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from nscma_torch.core.records import SleepReport, Stats
from nscma_torch.server.access import Eraser, Reader, Writer
from nscma_torch.server.exports import exported, imported
from nscma_torch.server.ndjson import MEDIA_TYPE
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import Counted, Digest, OfUser, Problems, StoreSleepBody

router = APIRouter(prefix="/v1", tags=["store"])
IMPORT = "/v1/store/import"
_LINES: dict[int | str, dict[str, object]] = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}


@router.get("/export", operation_id="export", responses=_LINES, response_class=StreamingResponse)
async def export(asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> StreamingResponse:
    """All of a user as JSON lines."""
    return await exported(here, asked.user(asker))


@router.get("/store/export", operation_id="export_store", responses=_LINES, response_class=StreamingResponse)
async def export_store(asker: Reader, here: Here) -> StreamingResponse:
    """The whole store as JSON lines."""
    asker.any_user()
    return await exported(here, None)


@router.post(
    "/store/import",
    operation_id="import",
    response_model=Counted,
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def import_(request: Request, asker: Writer, here: Here) -> Counted:
    """Read an export, all of it or nothing; answers the number of rows."""
    asker.any_user()
    return Counted(count=await imported(here, request))


@router.get("/store/stats", operation_id="stats_of_store", response_model=Stats)
async def stats(asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """Counts of the whole store, or of the user who is named, with failed jobs and the background worker."""
    asker.any_user()
    return await here.work.json(Stats, here.memory.stats, user_id=asked.user_id)


@router.get("/store/digest", operation_id="digest_of_store", response_model=Digest)
async def digest(asker: Reader, here: Here) -> Response:
    """SHA-256 over the logical state of the store."""
    asker.any_user()
    return await here.slow.json(Digest, lambda: Digest(digest=here.memory.digest()))


@router.get("/store/verify", operation_id="verify", response_model=Problems)
async def verify(asker: Reader, here: Here) -> Response:
    """Return the store's problems; none if every index equals its rows."""
    asker.any_user()
    return await here.slow.json(Problems, lambda: Problems(problems=here.memory.verify()))


@router.post("/store/sleep", operation_id="sleep_all", response_model=SleepReport)
async def sleep(body: StoreSleepBody, asker: Writer, here: Here) -> Response:
    """Sleep for every user."""
    asker.any_user()
    return await here.slow.json(SleepReport, here.memory.sleep, now=body.now, dry_run=body.dry_run)


@router.post("/store/flush", operation_id="flush", response_model=Counted)
async def flush(asker: Writer, here: Here) -> Response:
    """Have all background work done; answers how many jobs this call ran."""
    asker.any_user()
    return await here.slow.json(Counted, lambda: Counted(count=here.memory.flush(progress=here.go_on)))


@router.post("/store/retry", operation_id="retry_failed", response_model=Counted)
async def retry_failed(asker: Writer, here: Here) -> Response:
    """Queue failed jobs again."""
    asker.any_user()
    return await here.work.json(Counted, lambda: Counted(count=here.memory.retry_failed()))


@router.post("/store/reembed", operation_id="reembed", response_model=Counted)
async def reembed(asker: Writer, here: Here) -> Response:
    """Replace all vectors by those of the configured embedder; all of them or none."""
    asker.any_user()
    return await here.slow.json(Counted, lambda: Counted(count=here.memory.reembed(progress=here.go_on)))


@router.post("/store/reset", operation_id="reset", status_code=204, response_class=Response)
async def reset(asker: Eraser, here: Here) -> Response:
    """Erase every user of the store. There is no way back."""
    asker.any_user()
    await here.slow.run(here.memory.reset)
    return Response(status_code=204)
