"""Work that goes through the server of the same store where one runs, whose models are loaded already.

The results are those of this process: a server counts only where it has the same file open, is of the same version and
was given the same configuration, and where it proves that it wrote the notice beside the store. What it does not do, or
refuses without saying more than this process would, is done here.
"""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit

from nscma_torch.cli.output import opened
from nscma_torch.core import errors
from nscma_torch.core.database.store_path import file_of
from nscma_torch.server import notice as notices

if TYPE_CHECKING:
    from nscma_torch.server.notice import Notice

T = TypeVar("T")
_GREETING = 2.0  # seconds for the proof; a server that is slower is left alone
_ANSWER = 600.0  # seconds for an answer
_DONE_HERE = frozenset({408, 413, 422, 429})  # what does not fit is said better here; what is too much at once waits


class ElsewhereError(Exception):
    """The server does not do this; the store is opened here."""


class LostError(ElsewhereError):
    """No answer came, or one that does not say whether it was done."""


def read(
    look: Callable[[Any], T], store: str, config: Path | None, *, token: str | None = None, no_server: bool = False
) -> T:
    """Return `look(memory)` of the server's memory, else of the store opened here.

    Raises what `Memory` raises, and `TokenError` or `ForbiddenError` where the server refuses the token.
    """
    return done(look, None if no_server else server_of(store, config), store, config, token=token)


def done(
    work: Callable[[Any], T],
    found: Notice | None,
    store: str,
    config: Path | None,
    *,
    token: str | None = None,
    must_exist: bool = True,
) -> T:
    """The same, of a server that was found, or not. Where that one leaves the work, it is begun again here.

    Work that writes goes on, when it is begun again, with what the server did not do.
    """
    if found is not None:
        from nscma_torch.cli.served_memory import ServedMemory

        try:
            return work(ServedMemory(Line(found, token)))
        except ElsewhereError:
            pass  # it is done here
    with opened(store, config, must_exist=must_exist) as memory:
        return work(memory)


def server_of(store: str, config: Path | None) -> Notice | None:
    """The notice of the server that would answer as this process does. One whose process has ended is removed."""
    file = file_of(store)
    if file is None:
        return None
    try:
        path = notices.beside(file)
        notice = notices.read(path)
    except ValueError:  # no file can have that name, and opening the store says so
        return None
    if notice is None:
        return None
    if notice.ended:
        notice.remove(path)
        return None
    try:
        if notice.answers != notices.Answers.of(file, config):
            return None
        challenge = secrets.token_hex(16)
        status, told = Line(notice, None, _GREETING).request(
            "GET", f"{notices.PROOF}?{urlencode({'challenge': challenge})}"
        )
        given = json.loads(told)["proof"] if status == 200 else ""
        return notice if compare_digest(str(given), notice.proof(challenge)) else None
    except (OSError, ElsewhereError, ValueError, LookupError, TypeError):
        return None


class Line:
    """Requests to one server."""

    def __init__(self, notice: Notice, token: str | None, seconds: float = _ANSWER) -> None:
        self._address = urlsplit(notice.url)
        self._token = token
        self._seconds = seconds
        self.url = notice.url

    def request(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        """Status and body of an answer. Raises `LostError` where none comes."""
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

    def asked(self, method: str, path: str, **fields: Any) -> bytes:
        """The answer of an endpoint to a body, or to a query, of those fields that are not None.

        Raises the error that the server names, and `ElsewhereError` where this process is to do it: a `LostError` where
        the server may have done it.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        asked = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        try:
            body = json.dumps(given, allow_nan=False) if method == "POST" else None
            query = "" if method == "POST" or not asked else f"?{urlencode(asked)}"
        except (ValueError, UnicodeEncodeError) as error:  # what cannot be sent is told here
            raise ElsewhereError from error
        status, told = self.request(method, path + query, body)
        if status == 200:
            return told
        if status == 500:
            raise LostError
        if status > 500 or status in _DONE_HERE or (status == 401 and not self._token):
            raise ElsewhereError
        raise self._refusal(told)

    def _refusal(self, told: bytes) -> errors.NscmaError:
        try:
            problem = json.loads(told)
            name, detail = str(problem["type"]).removeprefix("urn:nscma:"), str(problem["detail"])
        except (ValueError, LookupError, TypeError) as error:
            raise ElsewhereError from error
        kind = getattr(errors, name, None)
        if not (isinstance(kind, type) and issubclass(kind, errors.NscmaError)):
            raise ElsewhereError
        if issubclass(kind, errors.AccessError):
            detail += f"; --no-server opens the store without the server at {self.url}"
        return kind(detail)
