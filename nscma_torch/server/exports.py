"""Send and receive exports through an unnamed temporary file, so the store never waits for a slow client."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, cast

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.background import BackgroundTask

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EncodingError
from nscma_torch.server.access import Caller
from nscma_torch.server.app_context import AppContext, Context
from nscma_torch.server.endpoints import route
from nscma_torch.server.ndjson import BODY, MEDIA_TYPE
from nscma_torch.server.parameters import UserParams
from nscma_torch.server.problems import BodyError
from nscma_torch.server.results import CountOut

_IN_MEMORY = 1 << 24  # bytes
_CHUNK = 1 << 16  # bytes
router = APIRouter(tags=["store"])
_LINES: dict[int | str, dict[str, object]] = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}


@route(router, "export", responses=_LINES, response_class=StreamingResponse)
async def export(asked: Annotated[UserParams, Query()], caller: Caller, context: Context) -> StreamingResponse:
    """Return all data of a user as JSON lines."""
    return await _exported(context, asked.user(caller))


@route(router, "export_store", responses=_LINES, response_class=StreamingResponse)
async def export_store(caller: Caller, context: Context) -> StreamingResponse:
    """Return the whole store as JSON lines."""
    caller.any_user()
    return await _exported(context, None)


@route(router, "import", response_model=CountOut, openapi_extra=BODY)
async def import_(request: Request, caller: Caller, context: Context) -> CountOut:
    """Import an export, all of it or nothing; return the number of rows."""
    caller.any_user()
    return CountOut(count=await _imported(context, request))


async def _exported(context: AppContext, user_id: str | None) -> StreamingResponse:
    """Return the store, or one user, as JSON lines. Raises `NotFoundError` for an unknown user."""
    file, size = await context.slow.run(_written, context.memory, user_id)
    headers = {"content-length": str(size), "content-disposition": 'attachment; filename="nscma-export.jsonl"'}
    closing = BackgroundTask(file.close)
    return StreamingResponse(_chunks(file), media_type=MEDIA_TYPE, headers=headers, background=closing)


async def _imported(context: AppContext, request: Request) -> int:
    """Import an export from a request body, completely or not at all; return the number of rows."""
    most = context.config.server.max_upload
    with _file() as file:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise BodyError(f"the export is larger than server.max_upload = {most:,} bytes; import a part", 413)
            file.write(chunk)
        file.seek(0)
        return await context.slow.run(_read, context, file)


def _file() -> IO[bytes]:
    return cast(IO[bytes], tempfile.SpooledTemporaryFile(_IN_MEMORY))


def _written(memory: Memory, user_id: str | None) -> tuple[IO[bytes], int]:
    file = _file()
    try:
        for line in memory.export(user_id=user_id):
            file.write(line.encode() + b"\n")
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file, size


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _read(context: AppContext, file: IO[bytes]) -> int:
    lines = io.TextIOWrapper(file, encoding="utf-8")
    try:
        return context.memory.import_(lines, progress=context.go_on)
    except UnicodeDecodeError as error:
        raise EncodingError(
            f"the body is not UTF-8 ({error.reason}), so it is not an export; nothing was stored"
        ) from error
    finally:
        lines.detach()
