"""Run `search`, `ask` and `add` through the store's running server, which has the models loaded.

A server is used only if it has the same file open, runs the same version, has the same configuration, and proves that
it wrote the notice file next to the store. If it can't do the work, this process opens the store.
"""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit

from nscma_torch.api.operations import OPERATIONS
from nscma_torch.cli.output import opened
from nscma_torch.core import errors
from nscma_torch.core.database.store_path import file_of
from nscma_torch.server import notice as notices

if TYPE_CHECKING:
    from nscma_torch.server.notice import Notice

T = TypeVar("T")
_PROOF_SECONDS = 2.0  # a slower server is not used
_ANSWER_SECONDS = 600.0
_DONE_HERE = frozenset({408, 413, 422, 429})  # this process reports what does not fit, and can wait


class UnavailableError(Exception):
    """The server doesn't support this request, so the store must be opened in this process."""


class LostError(UnavailableError):
    """There is no response, or it doesn't show whether the work was done."""


def through(
    work: Callable[[Any], T],
    store: str,
    config: Path | None,
    *,
    token: str | None = None,
    no_server: bool = False,
    must_exist: bool = True,
) -> T:
    """Call `work` with the server's memory, or if no server can do the work, with the store opened in this process.

    Raises the same errors as `Memory`, and `TokenError` or `ForbiddenError` if the server rejects the token.
    """
    notice = None if no_server else server_of(store, config)
    if notice is not None:
        from nscma_torch.cli.served_memory import ServedMemory

        with suppress(UnavailableError):  # then it is done here
            return work(ServedMemory(Line(notice, token)))
    with opened(store, config, must_exist=must_exist) as memory:
        return work(memory)


def server_of(store: str, config: Path | None) -> Notice | None:
    """Return the notice from a server with the same version and configuration as this process; remove a notice from a
    process that has ended.
    """
    file = file_of(store)
    if file is None:
        return None
    try:
        path = notices.beside(file)
        notice = notices.read(path)
    except ValueError:  # no file can have that name; opening the store reports it
        return None
    if notice is None:
        return None
    if notice.ended:
        notice.remove(path)
        return None
    challenge = secrets.token_hex(16)
    try:
        if notice.answers != notices.ResultInputs.of(file, config):
            return None
        query = urlencode({"challenge": challenge})
        status, body = Line(notice, None, _PROOF_SECONDS).request("GET", f"{notices.PROOF}?{query}")
        given = json.loads(body)["proof"] if status == 200 else ""
    except (OSError, UnavailableError, ValueError, LookupError, TypeError):
        return None
    return notice if compare_digest(str(given), notice.proof(challenge)) else None


class Line:
    """Sends requests to one server."""

    def __init__(self, notice: Notice, token: str | None, seconds: float = _ANSWER_SECONDS) -> None:
        self._address = urlsplit(notice.url)
        self._token = token
        self._seconds = seconds
        self.url = notice.url

    def request(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        """Send a request; return the response's status and body. Raises `LostError` if there is no response."""
        headers = {"content-type": "application/json"} if body is not None else {}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=self._seconds)
        try:
            connection.request(method, path, None if body is None else body.encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise LostError from error
        finally:
            connection.close()

    def call(self, operation: str, **fields: Any) -> bytes:
        """Run an operation with the fields that aren't None, and return the response. Raises the same errors as
        `_checked`.
        """
        known, given = OPERATIONS[operation], {name: one for name, one in fields.items() if one is not None}
        try:
            if known.verb == "GET":
                path, body = f"{known.path}?{urlencode(given)}", None
            else:
                path, body = known.path, json.dumps(given, allow_nan=False)
                body.encode()
        except ValueError as error:  # cannot be sent; opening the store reports it
            raise UnavailableError from error
        return self._checked(*self.request(known.verb, path, body))

    def _checked(self, status: int, body: bytes) -> bytes:
        """Raise the error reported by the server, or `UnavailableError`. Raises `LostError` if the work may have been
        done.
        """
        if status == 200:
            return body
        if status == 500:
            raise LostError
        if status > 500 or status in _DONE_HERE or (status == 401 and not self._token):
            raise UnavailableError
        raise self._refusal(body)

    def _refusal(self, body: bytes) -> errors.NscmaError:
        try:
            problem = json.loads(body)
            name, detail = str(problem["type"]).removeprefix("urn:nscma:"), str(problem["detail"])
        except (ValueError, LookupError, TypeError) as error:
            raise UnavailableError from error
        kind = getattr(errors, name, None)
        if not (isinstance(kind, type) and issubclass(kind, errors.NscmaError)):
            raise UnavailableError
        if issubclass(kind, errors.AccessError):
            detail += f"; --no-server bypasses the server at {self.url}"
        return kind(detail)
