"""Authenticate requests: user and rights come from the token, never from the body alone.

Every request passes `AuthMiddleware` first, so no path can be forgotten. It stores the principal in the request's
state, for `allowed` and for mounted applications.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from nscma_torch.api.operations import OPERATIONS, Right
from nscma_torch.core.errors import ForbiddenError, NscmaError, ScopeError, TokenError
from nscma_torch.core.records import Scope
from nscma_torch.server.problems import problem
from nscma_torch.server.tokens import RIGHTS, TokenFile
from nscma_torch.server.work import LOCAL, REQUEST_INFO

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "x-forwarded-host")


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller and its rights.

    Args:
        user_id: the owner of the memory; None if the request may name any user.
        rights: the granted rights: read, write or erase.
        key: identifies the caller in limits and logs; never the token itself.
        default: the user if the token is for any user and the request names none; None if it must name one.
    """

    user_id: str | None
    rights: frozenset[Right]
    key: str
    default: str | None = None

    def user(self, *named: str | None) -> str:
        """Return the user of a request, from the user ids in its path, query and body. The work is charged to this
        user.

        Raises:
            ForbiddenError: the request names a different user from the token's.
            ScopeError: the token is for any user, and the request names none or several.
        """
        found = self._meant({name for name in named if name is not None})
        asked = REQUEST_INFO.get()
        if asked is not None:
            asked.user = found
        return found

    def _meant(self, found: set[str]) -> str:
        if self.user_id is not None:
            if found - {self.user_id}:
                raise ForbiddenError("the request names a different user from the token's; omit 'user_id'")
            return self.user_id
        if len(found) > 1:
            raise ScopeError("the request names two users; name one")
        if not found and self.default is None:
            raise ScopeError("the token is for any user; name one with user_id")
        return Scope(found.pop() if found else self.default or "").user_id

    def any_user(self) -> None:
        """Raise `ForbiddenError` unless the caller may access the whole store."""
        if self.user_id is not None:
            raise ForbiddenError(
                "this needs access to the whole store, and the token is for one user (`nscma token add`)"
            )

    def need(self, *rights: Right) -> None:
        """Raise `ForbiddenError` if any of these rights is missing."""
        for right in rights:
            if right not in self.rights:
                raise ForbiddenError(f"the token lacks the right to {right} (`nscma token add --can`)")


class Authenticator:
    """Authenticates requests by their tokens.

    Args:
        tokens: the tokens file. If it doesn't exist, only requests from this machine are accepted.
        default: the user for requests that have no token and name no user.
    """

    def __init__(self, tokens: TokenFile, *, default: str) -> None:
        self._tokens = tokens
        self._default = default

    def principal(self, headers: Mapping[str, str], peer: str | None) -> Principal:
        """Authenticate a request by its headers (names in lower case) and peer address.

        Raises `TokenError` if the token is missing or unknown. If there is no tokens file, raises `ForbiddenError` for
        requests from another machine.
        """
        if not self._tokens.required:
            if not is_loopback(peer) or any(name in headers for name in _FORWARDED):
                raise ForbiddenError(
                    "without tokens, only requests from this machine are accepted; create one with `nscma token add`"
                )
            return Principal(None, frozenset(RIGHTS), LOCAL, self._default)
        given = presented(headers)
        if given is None:
            raise TokenError("a token is needed: send the header 'Authorization: Bearer …' (`nscma token add`)")
        entry = self._tokens.find(given)
        if entry is None:
            raise TokenError("the token is unknown or revoked; create one with `nscma token add`")
        return Principal(entry.user, frozenset(entry.can), entry.id)


class AuthMiddleware:
    """ASGI middleware that rejects callers unknown to `Authenticator`, except on public paths."""

    def __init__(self, app: ASGIApp, *, access: Authenticator, public: Collection[str]) -> None:
        self._app = app
        self._access = access
        self._public = frozenset(public)

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
                return
            await send({"type": "websocket.close", "code": 1008})
            return
        if not (scope["path"] in self._public and scope["method"] in ("GET", "HEAD")):
            try:
                peer = scope["client"][0] if scope.get("client") else None
                found = self._access.principal(Headers(scope=scope), peer)
                if found.user_id is not None:  # whatever an endpoint makes of its query
                    found.user(*parse_qs(scope["query_string"].decode("latin-1")).get("user_id", ()))
            except NscmaError as error:
                await problem(error)(scope, receive, send)
                return
            scope.setdefault("state", {})["principal"] = found
        await self._app(scope, receive, send)


def principal_of(scope: Mapping[str, Any]) -> Principal:
    """Return the principal that `AuthMiddleware` stored in an ASGI scope. Raises `TokenError` on a public path."""
    found = scope.get("state", {}).get("principal")
    if not isinstance(found, Principal):
        raise TokenError("a token is needed here")
    return found


_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="created by `nscma token add`")


def allowed(*rights: Right) -> Any:
    """Return the FastAPI dependency for an endpoint that needs these rights.

    An endpoint uses it as `asker: Annotated[Principal, allowed("read")]`. The OpenAPI document lists the rights as
    scopes of the token.
    """

    def check(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]) -> Principal:
        found = principal_of(request.scope)
        found.need(*rights)
        return found

    return Security(check, scopes=list(rights))


def needs(operation: str) -> Any:
    """Return the FastAPI dependency for a route that runs an operation and needs that operation's right."""
    return allowed(OPERATIONS[operation].right)


def _caller(request: Request) -> Principal:
    return principal_of(request.scope)


Caller = Annotated[Principal, Depends(_caller)]
Reader = Annotated[Principal, allowed("read")]


def presented(headers: Mapping[str, str]) -> str | None:
    """Return a request's token from `Authorization: Bearer …` (mem0's clients send `Token …`) or from `X-API-Key`."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() in ("bearer", "token") and value.strip():
        return value.strip()
    return headers.get("x-api-key") or None


def is_loopback(address: str | None) -> bool:
    """Return True if an address is loopback."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
