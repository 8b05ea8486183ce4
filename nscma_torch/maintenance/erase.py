"""Real deletion: the rows go, the file is rewritten without them, and the bytes of what went are searched for.

`secure_delete` zeroes freed cells; VACUUM rewrites the file without slack; the -wal file is truncated. The search
looks at every file of the store, as another process reads it, for fragments of each erased text and name (of a
document, agent, run, session or speaker) that nothing that remains shares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, case, delete, false, select, true

from nscma_torch.core.database import raw_bytes
from nscma_torch.core.database.database import ALL_USERS, NO_USER, Database, get_meta, pages, set_meta
from nscma_torch.core.database.schema import drafts, episodes, history, jobs, recalls, streams, users
from nscma_torch.core.errors import StoreBusyError, StoreFullError
from nscma_torch.core.jobs import jobs as queue
from nscma_torch.core.jobs import leases, worker_health
from nscma_torch.core.records import ROLES
from nscma_torch.curator.store import derived_texts
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.unit_schema import postings, unit_changes, unit_sources, vectors
from nscma_torch.episodic.index.unit_schema import units as units_table
from nscma_torch.features.records import memory_records
from nscma_torch.features.skills import rows as skills
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchy_schema import hierarchies as hierarchies_table
from nscma_torch.hierarchy.store.hierarchy_schema import links, node_units, nodes, personas
from nscma_torch.maintenance import erase_facts
from nscma_torch.semantic.store.fact_schema import fact_namespaces

_REWRITE = "rewrite"  # in the table meta
_FRAGMENT = 16  # bytes; short enough to lie inside one page, long enough not to occur by chance
_STRIDE = 8
_SEARCHES = 3  # of the files, each for what the one before found
_NAMES = ("name", "session", "agent_id", "run_id", "idempotency_key")
_OF_EPISODE = (recalls, jobs, history)
_OF_HIERARCHY = (drafts, node_units, links, personas, nodes, hierarchies_table)
_OF_UNIT = (postings, vectors, unit_sources)


def delete_user(connection: Connection, user_id: str) -> dict[str, int]:
    """Delete every row of a user; returns the deleted rows by table."""
    leases.forget_user(connection, user_id)
    worker_health.forget_error(connection, user_id)
    tables: Sequence[Table] = (
        *(*_OF_EPISODE, *_OF_HIERARCHY, *_OF_UNIT, unit_changes, units_table, episodes, streams, users),
    )
    return (
        derived_texts.delete_user(connection, user_id)
        | memory_records.delete_user(connection, user_id)
        | erase_facts.delete_user(connection, user_id)
        | {table.name: connection.execute(delete(table).where(table.c.user_id == user_id)).rowcount for table in tables}
    )


@dataclass(frozen=True, slots=True)
class Erased:
    """What was deleted with an episode or a skill: rows by table, texts, ids; and what is derived again."""

    rows: dict[str, int]
    texts: list[str]
    ids: list[str]
    rebuilt: list[str]


def delete_episode(connection: Connection, episode_seq: int) -> Erased:
    """Delete one episode with its units, record, history, jobs and facts, and all summaries and texts that saw it.

    Returns what went, and which hierarchies and facts are made again by the jobs that it queues.
    """
    own = units.seqs_of_episode(connection, episode_seq)
    rebuilt = [hierarchy for hierarchy, _ in hierarchies.holding(connection, own)]
    texts = _texts_of_episode(connection, episode_seq, own)
    of_facts = erase_facts.delete_episode(connection, episode_seq)
    rebuilt += [" ".join(("facts:", *filter(None, key))) for key in of_facts.rebuilt]
    owner = connection.execute(select(episodes.c.user_id).where(episodes.c.seq == episode_seq)).scalar_one()
    queue.forget_errors(connection, owner)
    worker_health.forget_error(connection, owner)
    counts = Counter(of_facts.rows)
    counts.update(derived_texts.retire(connection, [episode_seq]))
    counts.update(memory_records.remove(connection, [episode_seq]))
    counts.update(hierarchies.retire(connection, own))
    counts.update(units.remove(connection, own))
    for table in _OF_EPISODE:
        counts[table.name] += connection.execute(delete(table).where(table.c.episode_seq == episode_seq)).rowcount
    counts[episodes.name] += connection.execute(delete(episodes).where(episodes.c.seq == episode_seq)).rowcount
    return Erased(dict(counts), texts + of_facts.texts, of_facts.ids, rebuilt)


def delete_skill(connection: Connection, user_id: str, skill_id: str) -> Erased:
    """Delete one skill with its units. Raises `NotFoundError` for an unknown id."""
    skills.require(connection, user_id, skill_id)
    texts = skills.texts(connection, skill_id)
    return Erased(skills.remove(connection, skill_id), texts, [skill_id], [])


def delete_empty_scopes(connection: Connection, user_id: str) -> dict[str, int]:
    """Delete a user's streams without a message, and what is kept for agents without one; returns rows by table.

    Their rows name documents, runs and agents. The facts of an agent stay while a skill or a derived text is in them.
    """
    said = select(episodes.c.seq).where(episodes.c.stream_id == streams.c.id).exists()
    empty = select(streams.c.id).where(streams.c.user_id == user_id, ~said)
    counts = Counter({drafts.name: connection.execute(delete(drafts).where(drafts.c.hierarchy_id.in_(empty))).rowcount})
    counts[streams.name] = connection.execute(delete(streams).where(streams.c.id.in_(empty))).rowcount
    speaking = select(streams.c.agent_id).where(streams.c.user_id == user_id, streams.c.agent_id.is_not(None))
    for table in (hierarchies_table, fact_namespaces):
        named = (table.c.user_id == user_id, table.c.agent_id.is_not(None), table.c.agent_id.not_in(speaking))
        for key in connection.execute(select(table.c.id).where(*named)).scalars().all():
            if table is hierarchies_table:
                hierarchies.reset(connection, key)
            elif not erase_facts.delete_namespace(connection, key):
                continue
            connection.execute(delete(jobs).where(jobs.c.lane == key))
            counts[table.name] += 1
    return dict(counts)


def texts_of_user(connection: Connection, user_id: str) -> list[str]:
    """Every text kept of a user: log, metadata, names, history, units, drafts and facts; chunks quote the log."""
    tables = (episodes, history, units_table, drafts)
    found = list(_texts(connection, *(table.c.user_id == user_id for table in tables)))
    found += [user_id, *_names(connection, episodes.c.user_id == user_id)]
    found += memory_records.names(connection, user_id=user_id)
    return found + list(erase_facts.texts(connection, user_id))


def _texts_of_episode(connection: Connection, episode_seq: int, own: Sequence[int]) -> list[str]:
    """Every text kept of an episode, but for its facts: log, metadata, names, history, units, summaries that saw it."""
    over = hierarchies.above(connection, own)
    derived = derived_texts.resting_texts(connection, episode_seq)
    of_log, of_history = episodes.c.seq == episode_seq, history.c.episode_seq == episode_seq
    named = memory_records.names(connection, episode_seq=episode_seq)
    found = [*derived, *named, *_texts(connection, of_log, of_history, false(), false()), *_names(connection, of_log)]
    for some in pages([*own, *over]):
        found += connection.execute(select(units_table.c.text).where(units_table.c.seq.in_(some))).scalars()
    return found


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
    earlier = case((history.c.event == "UPDATE", history.c.reason))  # what was said of a message before
    for said in connection.execute(select(history.c.old_text, history.c.new_text, earlier).where(of_history)):
        yield from (text for text in said if text)
    written = units_table.c.kind != "chunk"
    yield from connection.execute(select(units_table.c.text).where(written, of_units)).scalars()
    yield from connection.execute(select(drafts.c.text).where(of_drafts)).scalars()


def _names(connection: Connection, of_log: ColumnElement[bool]) -> list[str]:
    """Names that messages carry: of the document, agent, run, session and speaker, and their idempotency keys."""
    found: set[str] = set()
    for column in (*(episodes.c[name] for name in _NAMES), streams.c.source):
        query = select(column).join_from(episodes, streams, streams.c.id == episodes.c.stream_id).distinct()
        found.update(connection.execute(query.where(of_log, column.is_not(None))).scalars())
    return sorted(found)


def _remaining_texts(connection: Connection) -> Iterator[str]:
    """Every text and name that the store still holds, terms of the lexical index and ids of messages included."""
    yield from _texts(connection, true(), true(), true(), true())
    yield from _names(connection, true())
    yield from memory_records.names(connection)
    yield from erase_facts.texts(connection)
    for column in (postings.c.term, episodes.c.id, users.c.user_id, fact_namespaces.c.agent_id):
        yield from connection.execute(select(column).where(column.is_not(None)).distinct()).scalars()


def promise_rewrite(connection: Connection) -> None:
    """Note, in the transaction that deletes, that the files are still to be rewritten."""
    set_meta(connection, _REWRITE, "due")


def rewrite_due(connection: Connection) -> bool:
    """Whether rows were deleted whose bytes may still stand in the files."""
    return get_meta(connection, _REWRITE) == "due"


def rewrite(database: Database) -> None:
    """Take what was deleted out of the store's files. Raises the store's error where it cannot."""
    try:
        database.rewrite()
        with database.write(NO_USER) as connection:
            set_meta(connection, _REWRITE, "done")
    except (StoreBusyError, StoreFullError) as error:
        raise type(error)(
            f"what was to be erased is deleted, but {database.name} could not be rewritten, and its bytes may still be "
            "there: let other processes end, or free as much space as the file takes, and erase it again"
        ) from error


def fragments(texts: Iterable[str]) -> set[bytes]:
    """Fragments of 16 bytes of the texts' UTF-8, every 8 bytes; a shorter text whole, if it has 8 bytes or more."""
    found = set()
    for text in texts:
        data = text.encode()
        if _STRIDE <= len(data) < _FRAGMENT:
            found.add(data)
        found.update(data[i : i + _FRAGMENT] for i in range(0, len(data) - _FRAGMENT + 1, _STRIDE))
    return found


def search(data: bytes, wanted: set[bytes]) -> set[bytes]:
    """Which fragments occur in `data`: their first 8 bytes are looked up at every offset, then compared whole."""
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
    """Search the store's files for erased texts and ids; returns the files and how many fragments still stand in them.

    Where a server keeps the files there are none to search, and None is returned for the number.

    Fragments that a remaining text shares ("I went to the …") prove nothing and are left out, and so are the ids of
    messages that stay, which metadata may name; nothing shares an erased id. Others may write meanwhile: what they
    added is in the rows that are read after the files, and what they deleted is gone after another rewrite.
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
