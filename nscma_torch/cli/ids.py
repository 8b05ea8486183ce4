"""Ids as people type and read them: the first digits are enough where only one id begins with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from nscma_torch.core.errors import InvalidInputError

if TYPE_CHECKING:
    from nscma_torch.maintenance.id_prefixes import Named

DIGITS = 8  # at least, of the 32 that an id has
_PREFIX = re.compile(rf"[0-9a-f]{{{DIGITS},31}}", re.IGNORECASE)


def full_id(memory: Any, typed: str, user: str, what: Named = "message") -> str:
    """The one id of the user's that begins so; what was typed where none does, or it is no beginning of an id.

    `memory` is a `Memory`, or its server's. Raises `InvalidInputError` where several begin so, naming them.
    """
    if not _PREFIX.fullmatch(typed):
        return typed
    found = _beginning(memory, typed.lower(), user, what)
    if len(found) > 1:
        raise InvalidInputError(f"several ids of a {what} begin with {typed}: {', '.join(found)}; type more digits")
    return found[0] if found else typed


def _beginning(memory: Any, digits: str, user: str, what: Named) -> list[str]:
    if hasattr(memory, "ids_beginning"):
        return list(memory.ids_beginning(user_id=user, what=what, digits=digits))
    from nscma_torch.core.records import Scope
    from nscma_torch.maintenance.id_prefixes import beginning_with

    user_id = Scope(user).user_id
    with memory.components.database.read(user_id) as connection:
        return beginning_with(connection, what, user_id, digits)


def short_ids(memory: Any, user: str, what: Named = "message") -> Callable[[str], str]:
    """A function from an id to the shortest beginning, of 8 digits or more, that no other id of the user's has.

    `memory` is a `Memory`, or its server's.
    """
    if hasattr(memory, "ids_alike"):  # a server's; the class is not imported to ask, as it brings an HTTP client along
        return shortened(memory.ids_alike(user_id=user, what=what, digits=DIGITS))
    from nscma_torch.core.records import Scope
    from nscma_torch.maintenance.id_prefixes import alike

    user_id = Scope(user).user_id
    with memory.components.database.read(user_id) as connection:
        return shortened(alike(connection, what, user_id, DIGITS))


def shortened(alike: Sequence[str]) -> Callable[[str], str]:
    """The same, from the ids in order that share their first 8 digits with another one."""
    digits: dict[str, int] = {}
    for one, after in pairwise(alike):
        shared = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(one, after, strict=False))) + 1
        digits[one] = max(digits.get(one, DIGITS), shared)
        digits[after] = max(DIGITS, shared)
    return lambda id: id[: digits.get(id, DIGITS)]
