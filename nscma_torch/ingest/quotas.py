"""Keep a user's messages within `limits.max_user_messages` and `limits.max_user_bytes`, whoever writes them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.dialects import text_bytes
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.errors import QuotaError

_E = episodes.c
_MOST_USERS = 4096  # whose counts are kept


@dataclass(frozen=True, slots=True)
class _Stored:
    """Messages and bytes of a user up to a row number, in one epoch of the user's data."""

    epoch: int
    last: int
    messages: int
    size: int


class Quotas:
    """Counts what users have stored.

    A count goes on from the last one, so it costs no more than the messages that came since. Deleted messages count
    until they are erased.
    """

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._known: OrderedDict[str, _Stored] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, connection: Connection, user_id: str, texts: Sequence[str]) -> None:
        """Check that new messages fit. In a write transaction, nobody else can add any meanwhile.

        Raises `QuotaError` if they don't.
        """
        limits = self._limits
        if not limits.max_user_messages and not limits.max_user_bytes:
            return
        stored = self._count(connection, user_id)
        messages, size = stored.messages + len(texts), stored.size + sum(len(text.encode()) for text in texts)
        for name, new, most in (
            ("max_user_messages", messages, limits.max_user_messages),
            ("max_user_bytes", size, limits.max_user_bytes),
        ):
            if most and new > most:
                raise QuotaError(
                    f"user {user_id!r} would have {new:,} {name.removeprefix('max_user_')} stored, more than limits."
                    f"{name} = {most:,}; erase some, or raise the limit"
                )

    def _count(self, connection: Connection, user_id: str) -> _Stored:
        _, epoch = user_versions.version(connection, user_id)
        with self._lock:
            known = self._known.get(user_id)
        if known is None or known.epoch != epoch:
            known = _Stored(epoch, -1, 0, 0)
        size = func.coalesce(func.sum(text_bytes(connection, _E.text)), 0)
        query = select(func.count(), size, func.coalesce(func.max(_E.seq), known.last))
        row = connection.execute(query.where(_E.user_id == user_id, _E.seq > known.last)).one()
        found = _Stored(epoch, row[2], known.messages + row[0], known.size + int(row[1]))
        with self._lock:
            self._known[user_id] = found
            self._known.move_to_end(user_id)
            while len(self._known) > _MOST_USERS:
                self._known.popitem(last=False)
        return found
