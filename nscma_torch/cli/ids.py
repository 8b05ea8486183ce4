"""Abbreviated ids for display and input: the first 8 digits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nscma_torch.core.errors import InvalidInputError

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory
    from nscma_torch.maintenance.id_prefixes import Named

DIGITS = 8  # of the 32 that an id has; of 100,000 ids, about one pair shares them
_PREFIX = re.compile(rf"[0-9a-f]{{{DIGITS},31}}", re.IGNORECASE)


def full_id(memory: Memory, typed: str, user: str, what: Named = "message") -> str:
    """Return the user's id that begins with `typed`, or `typed` itself if no id does.

    Raises `InvalidInputError`, listing the ids, if several match.
    """
    if not _PREFIX.fullmatch(typed):
        return typed
    from nscma_torch.core.records import Scope
    from nscma_torch.maintenance.id_prefixes import beginning_with

    user_id = Scope(user).user_id
    with memory.components.database.read(user_id) as connection:
        found = beginning_with(connection, what, user_id, typed.lower())
    if len(found) > 1:
        raise InvalidInputError(f"several {what} ids begin with {typed}: {', '.join(found)}; type more digits")
    return found[0] if found else typed


def short_id(full: str) -> str:
    """Return the id prefix that commands print."""
    return full[:DIGITS]
