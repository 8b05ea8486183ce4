"""Announce a store's server to programs of this machine: a notice beside the store, and a proof of identity.

`GET /health/store` answers the HMAC of a challenge under the key in the notice, so that whoever else listens on the
port later is not taken for this server, and is sent nothing.
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
    """The path of the proof. It tells nothing of anybody's memory, so that it needs no token."""

    def make(_: AppContext) -> RouteGroup:
        router = APIRouter(tags=["health"])

        @router.get(PROOF, operation_id="prove")
        async def prove(challenge: Annotated[str, Query(min_length=1, max_length=128)]) -> Proof:
            """Prove that this is the server which the notice beside the store names."""
            return Proof(proof=notice.proof(challenge))

        return RouteGroup((router,), public=frozenset({PROOF}))

    return make


@contextmanager
def announced(notice: Notice, store: Path) -> Iterator[None]:
    """Keep the notice beside the store. Raises `StoreAccessError` where it cannot be written."""
    path = beside(store)
    notice.write(path)
    try:
        yield
    finally:
        notice.remove(path)
