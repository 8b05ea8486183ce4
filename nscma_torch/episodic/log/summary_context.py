"""Record whether any message was read together with a summary of its conversation (`facts.context = "summary"`).

Statements extracted from such a message can repeat any earlier message, no matter how the store is configured later.
"""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.core.database.database import get_meta, set_meta

KEY = "read_with_summaries"


def note(connection: Connection) -> None:
    """Record that messages were read this way, in the transaction that stores the results."""
    if not was_used(connection):
        set_meta(connection, KEY, "yes")


def was_used(connection: Connection) -> bool:
    """Return True if any message in the store was read this way."""
    return get_meta(connection, KEY) == "yes"
