"""The records capability: structured records for messages, and their resolution by later messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from nscma_torch.core.capabilities import Capability, Erased, RowQueries
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.protocols import RecordTasks, required
from nscma_torch.features.records import check_records
from nscma_torch.features.records import memory_records as record_rows
from nscma_torch.features.records.record_schema import (
    RECORD_TABLES,
    memory_records,
    record_entities,
    record_resolutions,
)

if TYPE_CHECKING:
    from nscma_torch.features.records.describing import Describer

_M, _N, _R, _E = memory_records.c, record_entities.c, record_resolutions.c, episodes.c


def _digest(rows: RowQueries) -> Iterator[tuple[Any, ...]]:
    record = select(_E.id, _M.type, _M.sentiment, _M.resolution).join(memory_records, _M.episode_seq == _E.seq)
    for row in rows(record.order_by(_E.id), _M.user_id):
        yield ("record", *row)
    named = select(_E.id, _N.number, _N.name).join(record_entities, _N.episode_seq == _E.seq)
    for row in rows(named.order_by(_E.id, _N.number), _N.user_id):
        yield ("record names", *row)
    later = episodes.alias()
    settled = select(_E.id, later.c.id).join(record_resolutions, _R.episode_seq == _E.seq)
    settled = settled.join(later, later.c.seq == _R.by_seq)
    for row in rows(settled.order_by(_E.id, later.c.id), _R.user_id):
        yield ("settled", *row)


def _erase_episode(connection: Connection, episode_seq: int, _units: Sequence[int]) -> Erased:
    named = connection.execute(select(_N.name, _N.key).where(_N.episode_seq == episode_seq))
    erased = Erased(texts=[text for row in named for text in row])
    erased.rows.update(record_rows.remove(connection, [episode_seq]))
    return erased


def build(tasks: object) -> Describer:
    """Return the object that makes records. Raises `ConfigError` if the language tasks can't describe messages."""
    from nscma_torch.features.records.describing import Describer  # reads texts

    return Describer(required(tasks, RecordTasks, "records.enabled"))


CAPABILITY = Capability(
    tables=RECORD_TABLES,
    name="records",
    rows=record_rows,
    build=build,
    retire=record_rows.remove,
    texts={record_entities: ("name", "key")},
    digest=_digest,
    problems=check_records.problems,
    erase_episode=_erase_episode,
)
