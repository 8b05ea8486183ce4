"""Receive a stream of messages, one JSON object per line, and store and acknowledge them in batches.

The response begins with the first batch, while the request is still arriving. It has only one short line for each
batch, so a client can read it after sending everything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from nscma_torch.core.errors import EmptyTextError, NscmaError, TextTooLargeError
from nscma_torch.server.access import Caller
from nscma_torch.server.app_context import AppContext, Context
from nscma_torch.server.endpoints import route
from nscma_torch.server.parameters import RunParams
from nscma_torch.server.problems import Problem, described, problem
from nscma_torch.text.files.json_messages import json_line_messages, longest_line

MEDIA_TYPE = "application/x-ndjson"
BODY = {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}  # for the document
router = APIRouter(tags=["messages"])


class StreamParams(RunParams):
    """Options for storing a stream of messages."""

    infer: bool = True
    ids: bool = Field(False, description="include each message's id in the response")
    idempotency_key: str | None = Field(
        None,
        description="prefix for the keys of lines without one, followed by the line number, so a retry adds nothing",
    )


class AddedLine(BaseModel):
    """One line of the response: the number of messages from the first `lines` lines that are now on disk."""

    lines: int
    added: int
    known: int = Field(description="messages with an idempotency key that already exists")
    ids: list[str] | None = None
    done: bool = False
    error: Problem | None = None


class AddStream(Response):
    """Reads a stream of messages and produces the response.

    Args:
        scope: the memory's scope.
        ids: include the messages' ids in the response.
        key: prefix of the idempotency key for messages without one; the line number follows it.
    """

    def __init__(self, context: AppContext, scope: dict[str, Any], *, infer: bool, ids: bool, key: str | None) -> None:
        super().__init__(media_type=MEDIA_TYPE)
        self._context = context
        self._scope = scope
        self._infer = infer
        self._ids = ids
        self._key = key
        self._told = AddedLine(lines=0, added=0, known=0)
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async for batch in self._batches(receive):
                await self._context.work.run(self._store, batch)
                await self._tell(send, self._told)
            if not self._told.lines:
                raise EmptyTextError("no lines; send one message per line")
        except _GoneError:
            return
        except NscmaError as error:
            if not self._begun:
                await problem(error)(scope, receive, send)
                return
            failed = AddedLine(**self._told.model_dump(exclude={"ids"}) | {"error": described(error)})
            await self._tell(send, failed, more=False)
            return
        await self._tell(send, self._told.model_copy(update={"ids": None, "done": True}), more=False)

    async def _batches(self, receive: Receive) -> AsyncIterator[Sequence[bytes]]:
        """Yield batches of whole lines: as many as are stored in one transaction, or fewer if the lines are long."""
        batch: list[bytes] = []
        size = 0
        async for line in _lines(receive, self._longest):
            batch.append(line)
            size += len(line)
            if len(batch) == self._context.config.limits.max_batch or size > self._longest:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    @property
    def _longest(self) -> int:
        return longest_line(self._context.config.limits.max_message_bytes)

    def _store(self, batch: Sequence[bytes]) -> None:
        told, most = self._told, self._context.config.limits.max_message_bytes
        numbered = json_line_messages((line + b"\n" for line in batch), most, before=told.lines)
        messages = [
            replace(said, idempotency_key=said.idempotency_key or (self._key and f"{self._key}:{number}"))
            for number, said in numbered
        ]
        made = list(self._context.memory.add_many(messages, **self._scope, infer=self._infer))
        new = sum(one.event == "ADD" for one in made)
        self._told = AddedLine(
            lines=told.lines + len(batch),
            added=told.added + new,
            known=told.known + len(made) - new,
            ids=[one.id for one in made] if self._ids else None,
        )

    async def _tell(self, send: Send, line: AddedLine, *, more: bool = True) -> None:
        if not self._begun:
            await send({"type": "http.response.start", "status": 200, "headers": _headers()})
            self._begun = True
        text = line.model_dump_json(exclude_none=True) + "\n"
        await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


@route(
    router,
    "add_many",
    responses={200: {"content": {MEDIA_TYPE: {"schema": AddedLine.model_json_schema()}}}},
    openapi_extra=BODY,
    response_class=Response,
)
async def add_many(asked: Annotated[StreamParams, Query()], caller: Caller, context: Context) -> Response:
    """Store a stream of messages, one per line. Each line of the response reports a batch that is on disk.

    The last line has `done` set to true, or an `error`. After an error, the batches reported before it are stored and
    the rest isn't.
    """
    return AddStream(context, asked.scope(caller), infer=asked.infer, ids=asked.ids, key=asked.idempotency_key)


class _GoneError(Exception):
    """The client disconnected before the end of its request."""


def _headers() -> list[tuple[bytes, bytes]]:
    return [(b"content-type", MEDIA_TYPE.encode()), (b"cache-control", b"no-store")]


async def _lines(receive: Receive, longest: int) -> AsyncIterator[bytes]:
    """Yield the lines of a body without line endings. Raises `TextTooLargeError` for a line longer than `longest`
    bytes.
    """
    rest = bytearray()
    number, more = 1, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        more = message.get("more_body", False)
        body = message.get("body", b"")
        rest += body
        if b"\n" in body:
            *whole, rest = rest.split(b"\n")
            for line in whole:
                yield bytes(line)
            number += len(whole)
        if len(rest) > longest:
            raise TextTooLargeError(f"line {number} has more than {longest:,} bytes; write one message per line")
    if rest:
        yield bytes(rest)
