"""Check the integrity of the log: ids and scopes must match the content, and columns must have known values.

No row may have an id that a later row, perhaps for another user, will get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from sqlalchemy import Connection, func, or_, select

from nscma_torch.core.capabilities import RowQueries, strange_values
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes, history, jobs, streams
from nscma_torch.core.errors import StoreFormatError
from nscma_torch.core.records import ROLES, Scope, Status
from nscma_torch.episodic.log.episodes import id_of, set_columns
from nscma_torch.episodic.log.streams import stream_id_of

JSON_COLUMNS = ("metadata", "decision", "observation")
_SCOPE = ("user_id", "agent_id", "run_id")
_E, _H, _S = episodes.c, history.c, streams.c


def problems(rows: RowQueries) -> Iterator[str]:
    """Yield the problems found in the log, one sentence each."""
    yield from _streams(rows)
    yield from _scopes(rows)
    yield from strange_values(rows, episodes, "role", ROLES)
    yield from strange_values(rows, episodes, "status", get_args(Status))
    yield from strange_values(rows, jobs, "state", ("queued", "failed"))
    for row in rows(select(_E.id, *(_E[name] for name in JSON_COLUMNS)), _E.user_id).mappings():
        yield from (f"{column} of message {row['id']} is not a JSON object" for column in damaged_json(row))
    yield from (
        f"message {row.id} doesn't have the id derived from its position and first text" for row, _ in _other_ids(rows)
    )


def damaged_json(row: Mapping[Any, Any]) -> list[str]:
    """Return the names of a message's unreadable JSON columns."""
    found = []
    for column in JSON_COLUMNS:
        try:
            if row[column] is not None:
                decoded(row[column])
        except StoreFormatError:
            found.append(column)
    return found


def mend_messages(connection: Connection, user_id: str) -> None:
    """Recompute ids for a user's messages that lost their text or history."""
    for row, wanted in _other_ids(RowQueries(connection, (user_id,))):
        set_columns(connection, row.seq, id=wanted)


def _streams(rows: RowQueries) -> Iterator[str]:
    for row in rows(select(_S.id, *(_S[name] for name in _SCOPE), _S.source), _S.user_id):
        if row.id != stream_id_of(Scope(row.user_id, row.agent_id, row.run_id), row.source):
            yield f"stream {row.id} doesn't have the id derived from its scope and source"
    last = select(func.max(_E.position)).where(_E.stream_id == _S.id).scalar_subquery()
    for stream_id in rows(select(_S.id).where(last >= _S.next_position), _S.user_id).scalars():
        yield f"stream {stream_id} contains a message beyond its next position"


def _scopes(rows: RowQueries) -> Iterator[str]:
    strange = or_(*(_E[name].is_distinct_from(_S[name]) for name in _SCOPE))
    for (message,) in rows(select(_E.id).join(streams, _S.id == _E.stream_id).where(strange), _E.user_id):
        yield f"message {message} has a different scope than its stream"


def _other_ids(rows: RowQueries) -> list[tuple[Any, str]]:
    """Return the messages that have a wrong id, and the right id for each. An id is kept when the text is updated."""
    updates = select(_H.episode_seq, _H.old_text).where(_H.event == "UPDATE", _H.old_text.is_not(None))
    first = {row.episode_seq: row.old_text for row in rows(updates.order_by(_H.seq.desc()), _H.user_id)}
    said = rows(select(_E.seq, _E.id, _E.stream_id, _E.position, _E.role, _E.name, _E.text), _E.user_id)
    found = (
        (row, id_of(row.stream_id, row.position, row.role, row.name, first.get(row.seq, row.text))) for row in said
    )
    return [(row, wanted) for row, wanted in found if row.id != wanted]
