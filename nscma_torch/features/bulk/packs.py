"""Split rows into work: batches of new messages that are stored at once, grouped into packs that one actor computes.

A window is the number of rows planned together. Each user's rows stay in file order; users are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.episodic.log.streams import stream_id_of
from nscma_torch.features.bulk.rows import BulkRow

_PACK = 256  # messages from which on a pack takes no more users


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive messages from one user in one stream, stored in one transaction."""

    scope: Scope
    messages: tuple[Message, ...]

    @property
    def stream_id(self) -> str:
        """Return the id of the messages' stream."""
        return stream_id_of(self.scope, self.messages[0].source)

    @property
    def texts(self) -> list[str]:
        """Return the texts of all messages."""
        return [message.content for message in self.messages]


@dataclass(frozen=True, slots=True)
class Pack:
    """All new messages from some users in a window, in order, and the surprise model's states before them, by
    stream.
    """

    batches: tuple[Batch, ...]
    states: Mapping[str, bytes | None]

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return sum(len(batch.messages) for batch in self.batches)


def windows(rows: Iterable[BulkRow], size: int) -> Iterator[list[BulkRow]]:
    """Yield the rows in lists of `size` consecutive rows."""
    rest = iter(rows)
    while window := list(islice(rest, size)):
        yield window


def new_rows(memory: Memory, window: Sequence[BulkRow]) -> dict[str, list[BulkRow]]:
    """Return each user's rows that are not in the store, in order, without duplicate ids."""
    of_user: dict[str, dict[str, BulkRow]] = {}
    for row in window:
        assert row.message.idempotency_key is not None, "every row has a key"
        of_user.setdefault(row.scope.user_id, {}).setdefault(row.message.idempotency_key, row)
    new = {}
    for user_id, rows in of_user.items():
        with memory.components.database.read(user_id) as connection:
            held = episodes.held_keys(connection, user_id, list(rows))
        left = [row for key, row in rows.items() if key not in held]
        if left:
            new[user_id] = left
    return new


def packs(memory: Memory, rows: Mapping[str, Sequence[BulkRow]]) -> list[Pack]:
    """Group the users' rows into packs, largest first, to keep the actors evenly busy."""
    made: list[Pack] = []
    own: list[Batch] = []
    for of_user in rows.values():
        own += _batches(of_user, memory.config.limits.max_batch)
        if sum(len(batch.messages) for batch in own) >= _PACK:
            made.append(_pack(memory, own))
            own = []
    if own:
        made.append(_pack(memory, own))
    return sorted(made, key=lambda pack: -pack.messages)


def _pack(memory: Memory, batches: Sequence[Batch]) -> Pack:
    first = {batch.stream_id: batch for batch in reversed(batches)}
    writer = memory.components.writer
    states = {key: writer.proxy_state(batch.scope, batch.messages[0].source) for key, batch in first.items()}
    return Pack(tuple(batches), states)


def _batches(rows: Sequence[BulkRow], size: int) -> Iterator[Batch]:
    for scope, source in groupby(rows, key=lambda row: (row.scope, row.message.source)):
        rest = iter(source)
        while some := tuple(islice(rest, size)):
            yield Batch(scope[0], tuple(row.message for row in some))
