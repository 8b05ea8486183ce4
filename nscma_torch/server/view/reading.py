"""Read a file that was dropped on the page. Nothing is stored: the page sends the messages to `add`."""

from __future__ import annotations

import io
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.server.access import Principal, allowed
from nscma_torch.server.app_context import Context
from nscma_torch.server.parameters import UserParams
from nscma_torch.server.view import schemas
from nscma_torch.text.files.file_readers import read_messages

PATH = "/v1/view/file"
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
router = APIRouter(tags=["view"])


class FileParams(UserParams):
    """The name of a file, which determines its format and is the name of a document."""

    name: Annotated[str, Query(min_length=1, max_length=255)]


@router.post(
    PATH,
    operation_id="view_file",
    response_model=schemas.FileOut,
    openapi_extra={"requestBody": {"required": True, "content": _BYTES}},
)
async def file(
    request: Request,
    asked: Annotated[FileParams, Query()],
    caller: Annotated[Principal, allowed("write")],
    context: Context,
) -> Response:
    """Return the messages of a file, read like `nscma add` does; store nothing."""
    asked.user(caller)
    limits, data = context.config.limits, await request.body()
    if not asked.name.isprintable() or {"/", "\\"} & set(asked.name):
        raise InvalidInputError("the name of a file has only printable characters and no folder; rename it")

    def read() -> schemas.FileOut:
        stream = io.BytesIO(data)
        messages = [*read_messages(stream, name=asked.name, max_message_bytes=limits.max_message_bytes)]
        return schemas.FileOut(source=messages[0].source, messages=messages)

    return await context.slow.json(schemas.FileOut, read)
