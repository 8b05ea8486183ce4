"""Files of the page, read once and served with a policy that forbids external requests and inline scripts.

They contain no user data, so they need no token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePath

from fastapi import APIRouter, Request, Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-cache",  # asked for again each time; the tag below makes that an empty answer
}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page. `tag` changes whenever the content changes."""

    content: bytes
    type: str
    tag: str


def load() -> dict[str, File]:
    """Return the files by their path on the server."""
    found: dict[str, File] = {}
    for entry in resources.files("nscma_torch.server.view").joinpath("page").iterdir():
        kind = _TYPES.get(PurePath(entry.name).suffix)
        if kind is not None:
            content = entry.read_bytes()
            file = File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
            found["/" if entry.name == "index.html" else f"/view/{entry.name}"] = file
    return found


def router_of(pages: Mapping[str, File]) -> APIRouter:
    """Return endpoints for these files."""
    router = APIRouter(include_in_schema=False)

    async def answered(request: Request) -> Response:
        file = pages[request.scope["path"]]
        headers = {**_HEADERS, "etag": file.tag}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.type)

    for path in pages:
        router.add_api_route(path, answered, methods=["GET", "HEAD"])
    return router
