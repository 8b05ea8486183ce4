"""Endpoints about ids: which begin with some digits, and which need more than the first few to be told apart."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from nscma_torch.maintenance.id_prefixes import Named, alike, beginning_with
from nscma_torch.server.access import Reader
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import OfUser

router = APIRouter(prefix="/v1", tags=["store"])


class Alike(OfUser):
    """Owner and kind of ids, and the number of digits compared."""

    kind: Named = "message"
    digits: Annotated[int, Field(ge=4, le=32)] = 8


class Beginning(OfUser):
    """Owner, kind and prefix of ids."""

    kind: Named = "message"
    digits: Annotated[str, Field(pattern=r"^[0-9a-f]{4,32}$")]


@router.get("/ids/beginning", operation_id="ids_beginning", response_model=list[str])
async def ids_beginning(asked: Annotated[Beginning, Query()], asker: Reader, here: Here) -> Response:
    """The user's ids that begin with these hex digits, in order; at most 8."""
    user = asked.user(asker)

    def found() -> list[str]:
        with here.memory.components.database.read(user) as connection:
            return beginning_with(connection, asked.kind, user, asked.digits)

    return await here.work.json(list[str], found)


@router.get("/ids/alike", operation_id="ids_alike", response_model=list[str])
async def ids_alike(asked: Annotated[Alike, Query()], asker: Reader, here: Here) -> Response:
    """The ids that share their first digits with another one of the user's, in order; mostly there is none."""
    user = asked.user(asker)

    def found() -> list[str]:
        with here.memory.components.database.read(user) as connection:
            return alike(connection, asked.kind, user, asked.digits)

    return await here.work.json(list[str], found)
