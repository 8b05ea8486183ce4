"""Report errors as `application/problem+json` (RFC 9457), with the messages of `errors.py`.

`type` is "urn:nscma:" followed by the name of the error's class, and `detail` is its message. On paths of OpenAI's API,
an `error` object is added for OpenAI's clients. Unexpected errors are logged but reported without their message, which
may quote stored text.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from nscma_torch.core import errors

log = logging.getLogger("nscma.server")
_SCHEMA = "#/components/schemas/Problem"
MEDIA_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[errors.NscmaError], int], ...] = (  # the first that fits
    (errors.TextTooLargeError, 413),
    (errors.TextTooLongError, 413),
    (errors.InvalidInputError, 422),
    (errors.NotFoundError, 404),
    (errors.TokenError, 401),
    (errors.ForbiddenError, 403),
    (errors.OverloadedError, 503),
    (errors.MissingDependencyError, 501),
    (errors.EngineUnavailableError, 503),
    (errors.EngineError, 502),
    (errors.EmbedderMismatchError, 409),
    (errors.StoreFullError, 507),
    (errors.QuotaError, 507),
    (errors.StoreBusyError, 503),
    (errors.StoreClosedError, 503),
)
_RETRY_SECONDS = 2
_OPENAI = re.compile(
    r"/(?:v1/(?:chat/completions|completions|models|embeddings|responses|moderations|audio|images|files|batches"
    r"|assistants|threads|uploads|vector_stores|fine_tuning|conversations)|anthropic/v1/messages)(?:/|$)"
)
_MOST_PLACES, _LONGEST_PLACE = 20, 200  # of a request that does not fit; characters of each
RESPONSES: dict[int | str, dict[str, Any]] = {
    name: {"description": "a problem (RFC 9457)", "content": {MEDIA_TYPE: {"schema": {"$ref": _SCHEMA}}}}
    for name in ("422", "4XX", "5XX")
}  # of every endpoint, for the OpenAPI document


class Problem(BaseModel):
    """An error, with advice on how to fix it."""

    type: str = Field(description="urn:nscma: followed by the error's name, or about:blank if the status is sufficient")
    title: str
    status: int
    detail: str = Field("", description="what was wrong, and what to do")
    errors: list[dict[str, Any]] | None = Field(None, description="the first twenty invalid parts of the request")
    error: dict[str, str | None] | None = Field(
        None, description="the same error in OpenAI's format, on the OpenAI-compatible paths"
    )


class TooManyRequestsError(errors.OverloadedError):
    """A token sent too many requests."""


class BodyError(errors.AccessError):
    """A body is too large (413) or arrived too slowly (408)."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def described(error: Exception) -> Problem:
    """Convert an error to the problem sent to the client."""
    if isinstance(error, RequestValidationError):
        found = error.errors()[:_MOST_PLACES]  # a body can be wrong in a million places
        places = [{"at": _short(".".join(map(str, one["loc"]))), "message": _short(one["msg"])} for one in found]
        said = "; ".join(f"{one['at']}: {one['message']}" for one in places[:3])
        detail = f"the request does not fit: {said}"
        return _made("InvalidInputError", 422, detail, places)
    if isinstance(error, HTTPException):
        return Problem(
            type="about:blank", title=HTTPStatus(error.status_code).phrase, status=error.status_code,
            detail="" if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail), errors=None,
        )  # fmt: skip
    if isinstance(error, errors.NscmaError):
        return _made(type(error).__name__, status_of(error), str(error))
    return _made("InternalError", 500, "an error of the server's own; its log says more")


def status_of(error: errors.NscmaError) -> int:
    """Return the HTTP status for an error raised by the library."""
    if isinstance(error, TooManyRequestsError):
        return 429
    if isinstance(error, BodyError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem(error: Exception) -> Response:
    """Build the response for an error. Errors that the server's operator must fix are logged."""
    told = described(error)
    if told.status == 500 and isinstance(error, errors.NscmaError):  # uvicorn logs unexpected errors
        log.error("%s: %s", type(error).__name__, error)
    return _Told(told, _headers(error, told.status))


class _Told(Response):
    """Response with a problem; on paths of OpenAI's API, it includes the `error` object."""

    def __init__(self, told: Problem, headers: Mapping[str, str]) -> None:
        self._told = told
        super().__init__(_written(told), told.status, headers=headers, media_type=MEDIA_TYPE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _OPENAI.match(scope["path"]):
            self.body = _written(self._told, _openai(self._told))
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def _written(told: Problem, error: dict[str, str | None] | None = None) -> bytes:
    """Serialise as ASCII, because a message may quote a lone surrogate."""
    fields = told.model_dump(exclude_none=True)
    return json.dumps(fields if error is None else fields | {"error": error}).encode()


def _openai(told: Problem) -> dict[str, str | None]:
    """Convert an error to the format of OpenAI's API, of which Anthropic's clients read the message and type."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    codes = {401: "invalid_api_key", 413: "request_too_large", 429: "rate_limit_exceeded"}
    kind = kinds.get(told.status, "server_error" if told.status >= 500 else "invalid_request_error")
    name = told.type.rpartition(":")[2].removesuffix("Error")
    own = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() if told.type.startswith("urn:nscma:") else None
    param = told.errors[0]["at"] if told.errors else None
    code = codes.get(told.status, own)
    return {"message": told.detail or told.title, "type": kind, "param": param, "code": code}


def install(app: FastAPI) -> None:
    """Register `problem` as the handler for all errors in the application."""

    async def answered(_: Request, error: Exception) -> Response:
        return problem(error)

    for kind in (errors.NscmaError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answered)
    app.add_exception_handler(ClientDisconnect, _unheard)


async def _unheard(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # the client left before its body was whole


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_PLACE else f"{text[:_LONGEST_PLACE]}…"


def _made(name: str, status: int, detail: str, places: list[dict[str, Any]] | None = None) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(type=f"urn:nscma:{name}", title=title, status=status, detail=detail, errors=places)


def _headers(error: Exception, status: int) -> Mapping[str, str]:
    if isinstance(error, HTTPException):
        return dict(error.headers or {})
    if status == 401:
        return {"WWW-Authenticate": 'Bearer realm="nscma"'}
    if status in (429, 503):
        return {"Retry-After": str(getattr(error, "retry_after", _RETRY_SECONDS))}
    return {}
