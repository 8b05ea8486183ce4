"""Health endpoints: /health/live responds if the process is running, /health/ready if the store can be read and the
background worker is running.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from nscma_torch.core.database.database import NO_USER
from nscma_torch.core.errors import NscmaError
from nscma_torch.server.app_context import AppContext, RouteGroup


class Health(BaseModel):
    """Health of the server. Exposes no user data and needs no token."""

    status: Literal["ok", "unready"]


def route_group(context: AppContext) -> RouteGroup:
    """Serve the two paths."""
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live", operation_id="live")
    async def live() -> Health:
        """Report that the process is running."""
        return Health(status="ok")

    @router.get("/ready", operation_id="ready", responses={503: {"model": Health}})
    async def ready(response: Response) -> Health:
        """Check that the store can be read; respond with 503 if it can't, or if no thread is free."""
        try:
            await context.work.run(_look, context)
        except NscmaError:
            response.status_code = 503
            return Health(status="unready")
        return Health(status="ok")

    return RouteGroup((router,), public=frozenset({"/health/live", "/health/ready"}))


def _look(context: AppContext) -> None:
    """Read one row. Raises `StoreError` if that fails, or the error that ended the background worker."""
    with context.memory.components.database.read(NO_USER) as connection:
        connection.exec_driver_sql("SELECT count(*) FROM (SELECT 1 FROM users LIMIT 1)").scalar_one()
