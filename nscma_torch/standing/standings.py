"""Derive the standing of messages from the effects between them.

A message *holds* until a later one changes it. It is *past* if a later message ends, replaces or corrects it, or
decides its condition against it. It is *in doubt* if a later message takes away what it rests on: directly ("voids"),
or because a message that it rests on is past or in doubt itself. A message that confirms it afterwards makes it hold
again.

The result depends only on the set of messages and effects, not on the order in which they arrived. Deleting a message
removes its effects, and restoring it brings them back. Since a message rests only on earlier ones, there are no cycles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

State = Literal["holds", "in doubt", "past"]

ENDS = frozenset({"replaces", "corrects", "ends", "cancels", "fails"})
VOIDS, RESTS = "voids", "rests"
RENEWS = frozenset({"confirms", "fulfils"})
KINDS = (*sorted(ENDS), *sorted(RENEWS), VOIDS, RESTS)


class Effect(NamedTuple):
    """How message `later` bears on message `earlier`; both are row numbers. With `rests`, the later rests on the
    earlier.
    """

    earlier: int
    later: int
    kind: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a message, with the reason.

    Attributes:
        by: the message that ended it, or that took away what it rests on; None if it holds.
        kind: the kind of the effect of `by`; "" if the message holds.
        through: the messages between: what it rests on, and so on up to the one that `by` changes.
    """

    state: State = "holds"
    by: int | None = None
    kind: str = ""
    through: tuple[int, ...] = ()


HOLDS = Standing()


def standings(said_at: Mapping[int, int], effects: Iterable[Effect]) -> dict[int, Standing]:
    """Return the standing of each message that isn't holding.

    Costs O(n log n) in messages and effects.

    Args:
        said_at: times of the live messages by row number. Effects from or on other messages are ignored, and so are
            those of a message on one that isn't earlier.
    """
    order = {seq: (at, seq) for seq, at in said_at.items()}
    on: dict[int, list[Effect]] = {}
    for effect in effects:
        if effect.earlier in order and effect.later in order and order[effect.earlier] < order[effect.later]:
            on.setdefault(effect.later if effect.kind == RESTS else effect.earlier, []).append(effect)
    found: dict[int, Standing] = {}
    for seq in sorted(on, key=order.__getitem__):  # grounds come before what rests on them
        direct = sorted((e for e in on[seq] if e.kind != RESTS), key=lambda e: (order[e.later], e.kind))
        standing, since = _direct(direct, order)
        if standing.state == "holds":
            grounds = sorted({e.earlier for e in on[seq] if e.kind == RESTS}, key=order.__getitem__)
            standing = _through(seq, grounds, found, order, since)
        if standing.state != "holds":
            found[seq] = standing
    return found


def _direct(
    effects: Collection[Effect], order: Mapping[int, tuple[int, int]]
) -> tuple[Standing, tuple[int, int] | None]:
    """Return the standing after the effects on a message itself, and when it was last confirmed."""
    standing, confirmed = HOLDS, None
    for effect in effects:
        if effect.kind in RENEWS:
            standing, confirmed = HOLDS, order[effect.later]
        elif effect.kind in ENDS:
            standing = Standing("past", effect.later, effect.kind)
        elif standing.state == "holds":
            standing = Standing("in doubt", effect.later, effect.kind)
    return standing, confirmed


def _through(
    seq: int,
    grounds: Iterable[int],
    found: Mapping[int, Standing],
    order: Mapping[int, tuple[int, int]],
    confirmed: tuple[int, int] | None,
) -> Standing:
    """Return the standing that a message has because of what it rests on, if that went after the message was said."""
    since = max(order[seq], confirmed or order[seq])
    gone = [(order[by], ground) for ground in grounds if ground in found and (by := found[ground].by) is not None]
    gone = [(at, ground) for at, ground in gone if at > since]
    if not gone:
        return HOLDS
    _, ground = min(gone)
    own = found[ground]
    return Standing("in doubt", own.by, own.kind, (ground, *own.through))
