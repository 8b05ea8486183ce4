"""Store and load effects between messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, or_, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes as log
from nscma_torch.standing.effect_schema import message_effects
from nscma_torch.standing.standings import ENDS, RESTS, VOIDS, Effect, Standing, standings

_M = message_effects.c


class NewEffect(NamedTuple):
    """An effect to store, and its probability."""

    effect: Effect
    probability: float

    @property
    def ends(self) -> set[int]:
        """Return the row numbers of both messages."""
        return {self.effect.earlier, self.effect.later}


def replace(connection: Connection, user_id: str, seqs: Collection[int], new: Sequence[NewEffect]) -> None:
    """Replace the effects that were read from and on messages (by row number) by the new ones.

    Effects on messages that were erased meanwhile are dropped, and those between messages with a told one.
    """
    for some in pages(sorted(seqs)):
        read = (or_(_M.earlier_seq.in_(some), _M.later_seq.in_(some)), ~_M.told)
        connection.execute(delete(message_effects).where(*read))
    rows = {(own.effect.earlier, own.effect.later): own for own in new}
    ends = sorted({seq for pair in rows for seq in pair})
    held: set[int] = set()
    for some in pages(ends):
        held.update(connection.execute(select(episodes.c.seq).where(episodes.c.seq.in_(some))).scalars())
        told = select(_M.earlier_seq, _M.later_seq).where(_M.later_seq.in_(some), _M.told)
        for earlier, later in connection.execute(told):
            rows.pop((earlier, later), None)
    values = [
        {
            "earlier_seq": earlier,
            "later_seq": later,
            "user_id": user_id,
            "kind": own.effect.kind,
            "probability": own.probability,
            "told": False,
        }
        for (earlier, later), own in rows.items()
        if earlier in held and later in held
    ]
    if values:
        connection.execute(message_effects.insert(), values)


def tell_rests(connection: Connection, user_id: str, seqs: Collection[int], grounds: Collection[int]) -> None:
    """Store that messages rest on earlier ones, as the caller says, in place of effects read between them; all are row
    numbers.
    """
    for later in seqs:
        between = (_M.later_seq == later) & _M.earlier_seq.in_(grounds)
        connection.execute(delete(message_effects).where(between))
        for earlier in grounds:
            row = {"earlier_seq": earlier, "later_seq": later, "user_id": user_id, "kind": RESTS}
            connection.execute(message_effects.insert().values(**row, probability=1.0, told=True))


def remove(connection: Connection, seqs: Collection[int]) -> dict[str, int]:
    """Delete the effects from and on messages; return the number of deleted rows by table."""
    removed = 0
    for some in pages(sorted(seqs)):
        either = or_(_M.earlier_seq.in_(some), _M.later_seq.in_(some))
        removed += connection.execute(delete(message_effects).where(either)).rowcount
    return {message_effects.name: removed}


def of_messages(connection: Connection, seqs: Collection[int], now: int) -> dict[int, Standing]:
    """Return the standing of each of these messages that isn't holding at `now` (microseconds).

    Follows what they rest on; hidden messages have no effects.
    """
    known: set[int] = set()
    effects: set[Effect] = set()
    new = set(seqs)
    while new:
        known |= new
        found: set[Effect] = set()
        for some in pages(sorted(new)):
            grounds = and_(_M.later_seq.in_(some), _M.kind == RESTS)
            query = select(_M.earlier_seq, _M.later_seq, _M.kind).where(or_(_M.earlier_seq.in_(some), grounds))
            found.update(Effect(*row) for row in connection.execute(query))
        effects |= found
        new = {effect.earlier for effect in found if effect.kind == RESTS and effect.later in known} - known
    ends = {seq for effect in effects for seq in (effect.earlier, effect.later)}
    own = standings(_said_at(connection, ends, now), effects) if effects else {}
    return {seq: own[seq] for seq in seqs if seq in own}


def changing(connection: Connection, seqs: Collection[int], now: int, limit: int) -> list[int]:
    """Return the live messages that change, decide or confirm some of these messages, the likeliest first.

    Both are row numbers, and `now` is in microseconds.
    """
    found: dict[int, float] = {}
    for some in pages(sorted(seqs)):
        query = select(_M.later_seq, _M.probability).where(_M.earlier_seq.in_(some), _M.kind != RESTS)
        for seq, probability in connection.execute(query):
            found[seq] = max(probability, found.get(seq, 0.0))
    live = _said_at(connection, found, now)
    return sorted(live, key=lambda seq: (-found[seq], seq))[:limit]


def ended(connection: Connection, seqs: Collection[int]) -> set[tuple[int, int]]:
    """Return those of these messages (row numbers) that a message ends or voids, each with that one."""
    found: set[tuple[int, int]] = set()
    for some in pages(sorted(seqs)):
        query = select(_M.earlier_seq, _M.later_seq).where(_M.earlier_seq.in_(some), _M.kind.in_({*ENDS, VOIDS}))
        found.update((earlier, later) for earlier, later in connection.execute(query))
    return found


def fulfilled(connection: Connection, seqs: Collection[int], now: int) -> set[int]:
    """Return those of these messages (row numbers) whose matter a live message fulfils at `now` (microseconds)."""
    found: dict[int, int] = {}
    for some in pages(sorted(seqs)):
        query = select(_M.earlier_seq, _M.later_seq).where(_M.earlier_seq.in_(some), _M.kind == "fulfils")
        found.update((earlier, later) for earlier, later in connection.execute(query))
    live = _said_at(connection, found.values(), now)
    return {earlier for earlier, later in found.items() if later in live}


class Told(NamedTuple):
    """The reason that a message doesn't hold: the id of the message behind it, and its time."""

    by: str
    at: datetime


def of_episodes(connection: Connection, user_id: str, episode_ids: Collection[str], now: int) -> dict[str, Told]:
    """Return why each of the user's messages (by id) that isn't holding at `now` (microseconds) doesn't."""
    seqs = log.seqs_of(connection, user_id, episode_ids)
    found = of_messages(connection, seqs, now)
    later = log.by_seqs(connection, user_id, sorted({own.by for own in found.values() if own.by is not None}))
    return {
        seqs[seq]: Told(later[own.by].id, later[own.by].occurred_at) for seq, own in found.items() if own.by is not None
    }


def of_units(connection: Connection, unit_seqs: Collection[int], now: int) -> dict[int, Standing]:
    """Return the standing at `now` (microseconds) of each unit (by row number) whose messages all don't hold.

    A unit of several messages has the standing of its last one.
    """
    sources = units.sources_of(connection, unit_seqs)
    found = of_messages(connection, {seq for own in sources.values() for seq in own}, now)
    return {unit: found[max(own)] for unit, own in sources.items() if found.keys() >= set(own)}


def _said_at(connection: Connection, seqs: Collection[int], now: int) -> dict[int, int]:
    """Return when the live ones of these messages were said, by row number."""
    found: dict[int, int] = {}
    for some in pages(sorted(seqs)):
        query = select(episodes.c.seq, log.spoken_at()).where(episodes.c.seq.in_(some), log.live(now))
        found.update((seq, at) for seq, at in connection.execute(query) if at <= now)
    return found
