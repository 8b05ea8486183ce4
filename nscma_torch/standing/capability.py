"""The standing capability: effects between messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from nscma_torch.core.capabilities import Capability, Erased, RowQueries, strange_values
from nscma_torch.standing import effects
from nscma_torch.standing.effect_schema import message_effects
from nscma_torch.standing.standings import KINDS


def _erase_episode(connection: Connection, episode_seq: int, _units: Sequence[int]) -> Erased:
    erased = Erased()
    erased.rows.update(effects.remove(connection, [episode_seq]))
    return erased


def _problems(rows: RowQueries) -> Iterator[str]:
    yield from strange_values(rows, message_effects, "kind", KINDS)


# The digest leaves effects out: they are read by a network, whose last digits differ between processors.
CAPABILITY = Capability(
    tables=(message_effects,),
    problems=_problems,
    erase_episode=_erase_episode,
    retire=effects.remove,
)
