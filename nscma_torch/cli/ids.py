"""Ids as people type them: the first digits are enough where only one id begins with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nscma_torch.errors import InvalidInputError

if TYPE_CHECKING:
    from nscma_torch.memory import Memory
    from nscma_torch.storage.id_prefixes import Named

_PREFIX = re.compile(r"[0-9a-f]{8,31}", re.IGNORECASE)  # of the 32 digits that an id has


def full_id(memory: Memory, typed: str, user: str, what: Named = "message") -> str:
    """The one id of the user's that begins so; what was typed where none does, or it is no beginning of an id.

    Raises `InvalidInputError` where several begin so, naming them.
    """
    from nscma_torch.records import Scope
    from nscma_torch.storage.id_prefixes import beginning_with

    if not _PREFIX.fullmatch(typed):
        return typed
    with memory.components.database.read() as connection:
        found = beginning_with(connection, what, Scope(user).user_id, typed.lower())
    if len(found) > 1:
        raise InvalidInputError(f"several ids of a {what} begin with {typed}: {', '.join(found)}; type more digits")
    return found[0] if found else typed
