"""Answer lines on stdin that aren't protocol messages. The `mcp` package drops them silently."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from nscma_torch.core.errors import EncodingError
from nscma_torch.text.surrogates import refuse_surrogates


class AnsweringStream:
    """Stream of valid incoming messages. Invalid ones are answered with an error through `replies`."""

    def __init__(
        self, incoming: ContextReceiveStream[SessionMessage | Exception], replies: ContextSendStream[SessionMessage]
    ) -> None:
        self._incoming = incoming
        self._replies = replies

    @property
    def last_context(self) -> Any:
        """Return the sender's context for the last message."""
        return self._incoming.last_context

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        while True:
            item = await self._incoming.receive()
            if not isinstance(item, Exception):
                return item
            answer = error_answer(item)
            if answer is not None:
                await self._replies.send(SessionMessage(answer))

    async def aclose(self) -> None:
        """Close the stream."""
        await self._incoming.aclose()

    def __aiter__(self) -> AnsweringStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        from anyio import EndOfStream

        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> AnsweringStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def error_answer(fault: Exception) -> JSONRPCError | None:
    """Return the answer to an unreadable line, or None for a notification, a response or a blank line."""
    code, value = INVALID_REQUEST, _whole(fault)
    if isinstance(value, str):  # a line that is not JSON
        if not value.strip():
            return None
        code, value = PARSE_ERROR, _parsed(value)
    if isinstance(value, dict) and ("id" not in value or value.keys() & {"result", "error"}):
        return None
    number = value.get("id") if isinstance(value, dict) else None
    known = isinstance(number, int | str) and not isinstance(number, bool)
    message = "this is no request of the protocol; send one JSON object a line, with a method, its params and an id"
    try:
        refuse_surrogates(value, "the request")
    except EncodingError as error:
        code, message = PARSE_ERROR, str(error)
        known = known and (not isinstance(number, str) or number.isprintable())
    return JSONRPCError(jsonrpc="2.0", id=number if known else None, error=ErrorData(code=code, message=message))


def _whole(fault: Exception) -> Any:
    """Return the line that was read, or the value parsed from it."""
    problems = fault.errors(include_url=False) if isinstance(fault, ValidationError) else []
    kinds = ("json_invalid", "missing", "model_type")
    return next((one["input"] for one in problems if one["type"] in kinds and len(one["loc"]) <= 2), None)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
