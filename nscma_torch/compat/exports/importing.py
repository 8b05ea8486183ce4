"""Import another program's export into a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from types import MappingProxyType

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import clock
from nscma_torch.compat.exports import chatgpt, claude, mem0, mempalace
from nscma_torch.compat.exports.fitting import fitted
from nscma_torch.compat.exports.foreign import Foreign, Found
from nscma_torch.compat.mem0.scopes import scope_of
from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import EmptyTextError, InvalidInputError
from nscma_torch.core.records import Added, Scope

READERS: Mapping[str, Callable[[Path], Iterator[Found]]] = MappingProxyType(
    {"mem0": mem0.read, "mempalace": mempalace.read, "chatgpt": chatgpt.read, "claude": claude.read}
)


def read_export(
    kind: str,
    path: Path,
    *,
    limits: LimitsConfig | None = None,
    now: datetime | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[Foreign]:
    """Return all messages in an export that can be stored. Reading it twice gives the same idempotency keys.

    `report` is called with a sentence for each omission or change: an unreadable conversation, a text cut to
    `limits.max_message_bytes`, a time in the future.

    Raises `InvalidInputError` for an unknown kind or if nothing is readable, and `EmptyTextError` if there are no
    messages.
    """
    if kind not in READERS:
        raise InvalidInputError(f"unknown kind of export {kind!r}; kinds are {', '.join(READERS)}")
    if not path.exists():
        raise InvalidInputError(f"there is no file or folder {path}")
    found: list[Foreign] = []
    first: InvalidInputError | None = None
    bounds, at = LimitsConfig() if limits is None else limits, clock(now)
    for number, one in enumerate(READERS[kind](path), start=1):
        fitting = one if isinstance(one, InvalidInputError) else fitted(one, bounds, at)
        if isinstance(fitting, InvalidInputError):
            place = "" if fitting is one else f"message {number}: "
            first = first or fitting
            report(f"{place}{fitting}; it is omitted")
            continue
        for fault in fitting.faults:
            report(f"message {number}: {fault}")
        found.append(fitting)
    if not found:
        raise first or EmptyTextError(f"{path} has no messages; is it an export of {kind}?")
    return found


def import_export(
    memory: Memory, exported: list[Foreign], scope: Scope, *, infer: bool = True
) -> Iterator[list[Added]]:
    """Store messages from an export, and yield each batch's results once it is on disk; messages already stored give
    NOOP.

    Args:
        scope: the owner of messages for which the source names no owner. Messages with a user, an agent or a run keep
            it.
    """
    placed = [(scope_of(one.ids) or scope, one) for one in exported]
    for (owner, expires_at), group in groupby(placed, key=lambda pair: (pair[0], pair[1].expires_at)):
        messages = (one.message for _, one in group)
        while batch := list(islice(messages, memory.config.limits.max_batch)):
            yield memory.add(
                batch,
                user_id=owner.user_id,
                agent_id=owner.agent_id,
                run_id=owner.run_id,
                expiration_date=expires_at,
                infer=infer,
            )
