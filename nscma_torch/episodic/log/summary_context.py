"""Whether messages of a store were ever read beside a summary of their conversation (`facts.context = "summary"`).

What was made of such a message may repeat any message before it, however the store is configured later.
"""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.core.database.database import get_meta, set_meta

KEY = "read_with_summaries"


def note(connection: Connection) -> None:
    """Note that messages were read so, in the transaction that stores what was made of them."""
    if not was_used(connection):
        set_meta(connection, KEY, "yes")


def was_used(connection: Connection) -> bool:
    """Whether any message of the store was ever read so."""
    return get_meta(connection, KEY) == "yes"
