"""Announce a store's server to programs on this machine, with a notice file next to the store and a proof of identity.

`GET /health/store` returns the HMAC of a challenge under the key in the notice, so another process that later listens
on the port isn't mistaken for this server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from nscma_torch.server.app_context import AppContext, RouteGroup, RouteGroupFactory
from nscma_torch.server.notice import PROOF, Notice, beside


class Proof(BaseModel):
    """HMAC-SHA-256 of the challenge, in hex."""

    proof: str


def route_group(notice: Notice) -> RouteGroupFactory:
    """Serve the proof of identity. It exposes no user data and needs no token."""

    def make(_: AppContext) -> RouteGroup:
        router = APIRouter(tags=["health"])

        @router.get(PROOF, operation_id="prove")
        async def prove(challenge: Annotated[str, Query(min_length=1, max_length=128)]) -> Proof:
            """Prove that this is the server named in the notice next to the store."""
            return Proof(proof=notice.proof(challenge))

        return RouteGroup((router,), public=frozenset({PROOF}))

    return make


@contextmanager
def announced(notice: Notice, store: Path) -> Iterator[None]:
    """Keep the notice next to the store while serving. Raises `StoreAccessError` if it can't be written."""
    path = beside(store)
    notice.write(path)
    try:
        yield
    finally:
        notice.remove(path)
