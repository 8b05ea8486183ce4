"""An endpoint about ids: which of a user's need more digits than the first few to be told apart."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from nscma_torch.server.access import Reader
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import OfUser
from nscma_torch.storage.id_prefixes import Named, alike

router = APIRouter(prefix="/v1", tags=["store"])


class Alike(OfUser):
    """Whose ids, of what, and how many digits are looked at."""

    kind: Named = "message"
    digits: Annotated[int, Field(ge=4, le=32)] = 8


@router.get("/ids/alike", operation_id="ids_alike", response_model=list[str])
async def ids_alike(asked: Annotated[Alike, Query()], asker: Reader, here: Here) -> Response:
    """The ids that share their first digits with another one of the user's, in order; mostly there is none."""
    user = asked.user(asker)

    def found() -> list[str]:
        with here.memory.components.database.read(user) as connection:
            return alike(connection, asked.kind, user, asked.digits)

    return await here.work.json(list[str], found)
