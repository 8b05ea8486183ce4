"""Refuse cross-site requests, using the headers Host (against DNS rebinding), Origin and Sec-Fetch-Site.

Otherwise a page from another site in the user's browser could use a server without tokens. It could do so under a name
that resolves to this machine, or with requests that browsers send without asking: a form, a plain-text POST, or an
image or frame, which send no Origin header. A link to a public path may be followed from anywhere.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from nscma_torch.core.config import ServerConfig
from nscma_torch.core.errors import ForbiddenError
from nscma_torch.server.access import is_loopback
from nscma_torch.server.app_context import ServerSettings
from nscma_torch.server.problems import problem

_OF_THE_PROXY = ("Memory", "Recalled", "Tokens", "Seconds", "Stores")
_OWN = frozenset({"localhost", "127.0.0.1", "::1"})


class OriginGuard:
    """ASGI middleware that refuses cross-site requests."""

    def __init__(
        self, app: ASGIApp, *, settings: ServerSettings, limits: ServerConfig, public: Collection[str]
    ) -> None:
        self._app = app
        self._public = frozenset(public)
        self._origins = frozenset(limits.origins)
        inside = settings.host == "localhost" or is_loopback(settings.host)
        names = {settings.host.lower(), *(name.lower() for name in limits.hosts)}
        self._names = None if not (inside or limits.hosts) else frozenset(_OWN | names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            error = self._fault(Headers(scope=scope), scope)
            if error is not None:
                await problem(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _fault(self, headers: Headers, scope: Scope) -> ForbiddenError | None:
        host = headers.get("host", "")
        if self._names is not None and _name(host) not in self._names:
            return ForbiddenError(f"the Host header {host[:80]!r} is not a name of this server; add it to server.hosts")
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site", "none") in ("none", "same-origin") or _follows_link(
                headers, scope, self._public
            ):
                return None
            return ForbiddenError("pages of another site may not use this server; add their origin to server.origins")
        if origin in self._origins or urlsplit(origin).netloc.lower() == host.lower():
            return None
        return ForbiddenError(f"pages of {origin[:80]!r} may not use this server; add it to server.origins")


def cors(app: FastAPI, limits: ServerConfig) -> None:
    """Allow pages from the origins in `server.origins`, if any, to use the application."""
    if limits.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(limits.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After", "WWW-Authenticate", *(f"X-NSCMA-{name}" for name in _OF_THE_PROXY)],
        )


def _follows_link(headers: Headers, scope: Scope, public: Collection[str]) -> bool:
    """Return True if a browser opens a public page in its own tab."""
    opens = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return opens and scope["method"] in ("GET", "HEAD") and scope["path"] in public


def _name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()
