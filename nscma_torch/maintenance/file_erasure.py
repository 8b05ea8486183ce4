"""Permanent deletion: delete rows, rewrite the file without them, and search it for remaining bytes.

`secure_delete` zeroes freed cells; VACUUM rewrites the file without slack; the -wal file is truncated. The search reads
every file of the store, as another process would, and looks for fragments of each erased text and name (of a document,
agent, run, session or speaker) that occur in no remaining text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import ColumnElement, Connection, case, delete, false, select, true

from nscma_torch.core.capabilities import Erased, RowQueries, capabilities, tables_with
from nscma_torch.core.database import raw_bytes
from nscma_torch.core.database.database import ALL_USERS, NO_USER, Database, get_meta, set_meta
from nscma_torch.core.database.schema import drafts, episodes, history, jobs, recalls, streams, users
from nscma_torch.core.errors import StoreBusyError, StoreFullError
from nscma_torch.core.jobs import jobs as queue
from nscma_torch.core.jobs import worker_health
from nscma_torch.core.records import ROLES
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.unit_schema import postings
from nscma_torch.episodic.index.unit_schema import units as units_table

_REWRITE = "rewrite"  # in the table meta
_FRAGMENT = 16  # bytes; short enough to lie inside one page, long enough not to occur by chance
_STRIDE = 8
_SEARCHES = 3  # of the files, each for what the one before found
_NAMES = ("name", "session", "agent_id", "run_id", "idempotency_key")


def delete_user(connection: Connection, user_id: str) -> dict[str, int]:
    """Delete every row that belongs to a user; return the number of deleted rows by table."""
    return {
        table.name: connection.execute(delete(table).where(table.c.user_id == user_id)).rowcount
        for table in tables_with("user_id")
    }


def delete_episode(connection: Connection, episode_seq: int) -> Erased:
    """Delete one episode with its units, history, jobs, and all derived data.

    Returns the deletions, and the hierarchies and facts that queued jobs will recompute.
    """
    own = units.seqs_of_episode(connection, episode_seq)
    owner = connection.execute(select(episodes.c.user_id).where(episodes.c.seq == episode_seq)).scalar_one()
    erased = Erased(texts=_texts_of_episode(connection, episode_seq, own))
    for capability in capabilities():
        if capability.erase_episode is not None:
            erased.add(capability.erase_episode(connection, episode_seq, own))
    queue.forget_errors(connection, owner)
    worker_health.forget_error(connection, owner)
    erased.rows.update(units.remove(connection, own))
    for table in (recalls, jobs, history):
        deleted = connection.execute(delete(table).where(table.c.episode_seq == episode_seq)).rowcount
        erased.rows[table.name] += deleted
    erased.rows[episodes.name] += connection.execute(delete(episodes).where(episodes.c.seq == episode_seq)).rowcount
    return erased


def delete_empty_scopes(connection: Connection, user_id: str) -> dict[str, int]:
    """Delete a user's streams without messages, and the state for agents without messages; return the number of rows by
    table.

    Such rows contain names of documents, runs and agents. An agent's namespace stays as long as it contains a skill or
    a derived text.
    """
    said = select(episodes.c.seq).where(episodes.c.stream_id == streams.c.id).exists()
    empty = select(streams.c.id).where(streams.c.user_id == user_id, ~said)
    counts = Counter({drafts.name: connection.execute(delete(drafts).where(drafts.c.hierarchy_id.in_(empty))).rowcount})
    counts[streams.name] = connection.execute(delete(streams).where(streams.c.id.in_(empty))).rowcount
    speaking = select(streams.c.agent_id).where(streams.c.user_id == user_id, streams.c.agent_id.is_not(None))
    for kept in (capability.per_agent for capability in capabilities() if capability.per_agent is not None):
        own = kept.table.c
        named = (own.user_id == user_id, own.agent_id.is_not(None), own.agent_id.not_in(speaking))
        for key in connection.execute(select(own.id).where(*named)).scalars().all():
            if kept.delete(connection, key):
                connection.execute(delete(jobs).where(jobs.c.lane == key))
                counts[kept.table.name] += 1
    return dict(counts)


def texts_of_user(connection: Connection, user_id: str) -> list[str]:
    """Return every text stored for a user: log, metadata, names, history, units, drafts and facts; chunks are part of
    the log's texts.
    """
    tables = (episodes, history, units_table, drafts)
    found = list(_texts(connection, *(table.c.user_id == user_id for table in tables)))
    found += [user_id, *_names(connection, episodes.c.user_id == user_id)]
    return found + list(texts_of_capabilities(RowQueries(connection, (user_id,))))


def texts_of_capabilities(rows: RowQueries) -> Iterator[str]:
    """Yield the texts and names that capabilities store in addition to the log and the units."""
    for capability in capabilities():
        for table, names in capability.texts.items():
            for row in rows(select(*(table.c[name] for name in names)), table.c.user_id):
                yield from (text for text in row if text)


def _texts_of_episode(connection: Connection, episode_seq: int, own: Sequence[int]) -> list[str]:
    """Return every text that the log and the index store for an episode: text, metadata, names, history, units."""
    of_log, of_history = episodes.c.seq == episode_seq, history.c.episode_seq == episode_seq
    found = [*_texts(connection, of_log, of_history, false(), false()), *_names(connection, of_log)]
    return found + list(units.texts(connection, own).values())


def _texts(
    connection: Connection,
    of_log: ColumnElement[bool],
    of_history: ColumnElement[bool],
    of_units: ColumnElement[bool],
    of_drafts: ColumnElement[bool],
) -> Iterable[str]:
    for column in (episodes.c.text, episodes.c.metadata):  # texts side by side, as a stream's window holds them
        query = select(column).where(of_log).order_by(episodes.c.stream_id, episodes.c.position)
        yield from connection.execute(query).scalars()
    earlier = case((history.c.event == "UPDATE", history.c.reason))  # earlier versions of a message
    for said in connection.execute(select(history.c.old_text, history.c.new_text, earlier).where(of_history)):
        yield from (text for text in said if text)
    written = units_table.c.kind != "chunk"
    yield from connection.execute(select(units_table.c.text).where(written, of_units)).scalars()
    yield from connection.execute(select(drafts.c.text).where(of_drafts)).scalars()


def _names(connection: Connection, of_log: ColumnElement[bool]) -> list[str]:
    """Return the names in messages: document, agent, run, session and speaker, and idempotency keys."""
    found: set[str] = set()
    for column in (*(episodes.c[name] for name in _NAMES), streams.c.source):
        query = select(column).join_from(episodes, streams, streams.c.id == episodes.c.stream_id).distinct()
        found.update(connection.execute(query.where(of_log, column.is_not(None))).scalars())
    return sorted(found)


def _remaining_texts(connection: Connection) -> Iterator[str]:
    """Yield every text and name still in the store, including the terms in the lexical index and message ids."""
    yield from _texts(connection, true(), true(), true(), true())
    yield from _names(connection, true())
    yield from texts_of_capabilities(RowQueries(connection))
    for column in (postings.c.term, episodes.c.id, users.c.user_id):
        yield from connection.execute(select(column).distinct()).scalars()


def promise_rewrite(connection: Connection) -> None:
    """Record, in the transaction that deletes rows, that the files must be rewritten."""
    set_meta(connection, _REWRITE, "due")


def rewrite_due(connection: Connection) -> bool:
    """Return True if bytes of deleted rows may remain in the files."""
    return get_meta(connection, _REWRITE) == "due"


def rewrite(database: Database) -> None:
    """Remove deleted data from the store's files. Raises the store's error if this fails."""
    try:
        database.rewrite()
        with database.write(NO_USER) as connection:
            set_meta(connection, _REWRITE, "done")
    except (StoreBusyError, StoreFullError) as error:
        raise type(error)(
            f"the rows are deleted, but {database.name} could not be rewritten, so their bytes may still be "
            "in its files: end other processes that use it, or free as much disk space as it takes, and erase again"
        ) from error


def fragments(texts: Iterable[str]) -> set[bytes]:
    """Return 16-byte fragments of the texts' UTF-8, one every 8 bytes; a shorter text is returned whole if it has 8
    bytes or more.
    """
    found = set()
    for text in texts:
        data = text.encode()
        if _STRIDE <= len(data) < _FRAGMENT:
            found.add(data)
        found.update(data[i : i + _FRAGMENT] for i in range(0, len(data) - _FRAGMENT + 1, _STRIDE))
    return found


def search(data: bytes, wanted: set[bytes]) -> set[bytes]:
    """Return the fragments that occur in `data`: the first 8 bytes are looked up at every offset, then whole fragments
    are compared.
    """
    if len(data) < _STRIDE or not wanted:
        return set()
    by_key: dict[int, list[bytes]] = {}
    for fragment in wanted:
        by_key.setdefault(int.from_bytes(fragment[:8], "little"), []).append(fragment)
    keys = np.array(sorted(by_key), dtype="<u8")
    found: set[bytes] = set()
    for offset in range(8):
        words = np.frombuffer(data[offset : offset + (len(data) - offset) // 8 * 8], dtype="<u8")
        for index in np.flatnonzero(np.isin(words, keys)):
            start = offset + 8 * int(index)
            found.update(f for f in by_key[int(words[index])] if data.startswith(f, start))
    return found


def remaining(database: Database, erased: Sequence[str], ids: Sequence[str]) -> tuple[tuple[Path, ...], int | None]:
    """Search the store's files for erased texts and ids; return the files and the number of fragments found.

    If a database server stores the files, they can't be searched, and the number is None.

    Fragments that also occur in a remaining text ("I went to the …") prove nothing and are skipped, as are the ids of
    remaining messages, which metadata can contain; an erased id occurs in nothing else. Others can write meanwhile:
    their additions are in the rows, which are read after the files, and their deletions are gone after another rewrite.
    """
    files = database.files()
    if not files:
        return files, None
    own = fragments(ids)
    wanted = fragments(erased) - set(map(str.encode, ROLES)) | own  # the speaker of a statement may be a role
    for left in reversed(range(_SEARCHES)):
        wanted = _in_files(files, wanted)
        if wanted - own:
            with database.read(ALL_USERS) as connection:
                kept = "\n".join(_remaining_texts(connection)).encode()
            wanted -= search(kept, wanted) - own
        if not wanted or not left:
            break
        rewrite(database)
    return files, len(wanted)


def _in_files(files: Sequence[Path], wanted: set[bytes]) -> set[bytes]:
    found = set[bytes]()
    for path in files:
        for block in raw_bytes.blocks(path, overlap=_FRAGMENT - 1):
            found |= search(block, wanted)
    return found
