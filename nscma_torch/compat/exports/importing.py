"""Import another program's export into a memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import clock
from nscma_torch.compat.exports.choices import Choices, choices
from nscma_torch.compat.exports.fitting import fitted
from nscma_torch.compat.exports.foreign import Foreign, LeftOut
from nscma_torch.compat.exports.kinds import KINDS, ExportKind
from nscma_torch.compat.exports.speakers import Speakers, spoken_by
from nscma_torch.compat.mem0.scopes import scope_of
from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import EmptyTextError, InvalidInputError
from nscma_torch.core.records import Added, Scope


class Export:
    """An export that was checked. Its messages are read from its files again each time it is iterated."""

    def __init__(self, kind: ExportKind, path: Path, chosen: Choices, limits: LimitsConfig, now: datetime) -> None:
        self._kind = kind
        self._path = path
        self._chosen = chosen
        self._limits = limits
        self._now = now
        self._owners: frozenset[str] = frozenset()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Foreign]:
        for one in self._kind.read(self._path, self._chosen):
            if isinstance(one, Foreign):
                fitting = self._fitted(one)
                if isinstance(fitting, Foreign):
                    yield fitting

    def check(self, report: Callable[[str], None]) -> None:
        """Read everything once, and report omissions and changes.

        Raises `InvalidInputError` if nothing is readable or the owner is unknown, `EmptyTextError` if there are no
        messages.
        """
        first: InvalidInputError | None = None
        speakers = Speakers()
        for number, one in enumerate(self._kind.read(self._path, self._chosen), start=1):
            if isinstance(one, LeftOut):
                report(str(one))
                continue
            fitting = one if isinstance(one, InvalidInputError) else self._fitted(one)
            if isinstance(fitting, InvalidInputError):
                place = "" if fitting is one else f"message {number}: "
                first = first or fitting
                report(f"{place}{fitting}; it is omitted")
                continue
            for fault in fitting.faults:
                report(f"message {number}: {fault}")
            if fitting.speaker is not None:
                speakers.add(fitting.speaker)
            self._count += 1
        if not self._count:
            raise first or EmptyTextError(f"{self._path} has no messages that can be imported; is it the right export?")
        self._owners = speakers.owners(self._chosen.me)

    def _fitted(self, one: Foreign) -> Foreign | InvalidInputError:
        if one.speaker is not None:
            one = replace(one, message=spoken_by(one.message, one.speaker, self._owners))
        return fitted(one, self._limits, self._now)


def read_export(
    kind: str,
    path: Path,
    *,
    me: Collection[str] = (),
    zone: str | None = None,
    dates: str | None = None,
    limits: LimitsConfig | None = None,
    now: datetime | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Export:
    """Check an export, and return its messages that can be stored. Reading it twice gives the same idempotency keys.

    Args:
        me: the owner's names in a chat between people.
        zone: the time zone of times without one, such as "Europe/Berlin"; UTC by default.
        dates: "day-first" or "month-first", if the export doesn't tell.
        report: called with a sentence for each omission or change: an unreadable conversation, a text cut to
            `limits.max_message_bytes`, a time in the future.

    Raises `InvalidInputError` for an unknown kind, an option that doesn't apply to it, an unknown owner or if nothing
    is readable, and `EmptyTextError` if there are no messages.
    """
    if kind not in KINDS:
        raise InvalidInputError(f"unknown kind of export {kind!r}; kinds are {', '.join(KINDS)}")
    chosen = choices(kind, KINDS[kind].options, me=me, zone=zone, dates=dates)
    if not path.exists():
        raise InvalidInputError(f"there is no file or folder {path}")
    found = Export(KINDS[kind], path, chosen, LimitsConfig() if limits is None else limits, clock(now))
    found.check(report)
    return found


def import_export(
    memory: Memory, exported: Iterable[Foreign], scope: Scope, *, infer: bool = True
) -> Iterator[list[Added]]:
    """Store messages from an export, and yield each batch's results once it is on disk; messages already stored give
    NOOP.

    Args:
        scope: the owner of messages for which the source names no owner. Messages with a user, an agent or a run keep
            it.
    """
    placed = ((scope_of(one.ids) or scope, one) for one in exported)
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
