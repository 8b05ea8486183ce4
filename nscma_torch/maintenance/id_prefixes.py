"""Look up ids by prefix."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection, select

from nscma_torch.core.capabilities import capability
from nscma_torch.core.database.schema import episodes
from nscma_torch.semantic.store.fact_schema import decisions

Named = Literal["message", "decision", "skill"]
_MOST = 8


def beginning_with(connection: Connection, what: Named, user_id: str, prefix: str) -> list[str]:
    """Return the ids of a user's messages, decisions or skills that begin with this hex prefix, in order; at most 8."""
    tables = {"message": episodes, "decision": decisions}
    table = tables[what] if what in tables else capability("skills").tables[0]
    query = select(table.c.id).where(table.c.user_id == user_id, table.c.id.startswith(prefix, autoescape=True))
    return list(connection.execute(query.order_by(table.c.id).limit(_MOST)).scalars())
