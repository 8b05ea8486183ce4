"""A stream as a conversation: its turns, the user's standing instructions, and the rolling summary.

The rolling summary is stored as a draft, under the stream's id and a key that names the turns it covers. It can be
recomputed; hiding or erasing any of the user's texts deletes it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, and_, delete, exists, func, literal, or_, select, union_all

from nscma_torch.core.database import dialects
from nscma_torch.core.database.database import pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import drafts, episodes, history, streams
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.log import episodes as log

ECHO = "echo"  # metadata of a turn that holds nothing new: a question put to the memory, a reply that quotes it
EVIDENCE = "evidence"  # metadata of a reply: ids of the messages that it was written from
CITED = "cited"  # metadata of a reply: ids of the messages among these that it names as its evidence, best first
DECISION = "decision"  # metadata of a controller's message that records a decision, not a reply
RATED = "rated"  # metadata of a reply: whether feedback on the answer said that it helped
NOTES = "notes"  # metadata of a reply: the model's notes before it, if kept
SUMMARISED = "summarised"  # metadata of a reply: id of the last message in the summary that it was written from
STANDING = "standing"  # metadata of a message that holds a standing instruction
_E = episodes.c


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A live message in a stream, without its text.

    `written` is True if the gate accepted it on arrival; `at` is the time it was said (microseconds).
    """

    seq: int
    id: str
    role: str
    written: bool
    text_hash: str
    at: int


_SAID = func.coalesce(_E.occurred_at, _E.recorded_at)


def turns_after(connection: Connection, stream_id: str, seq: int, now: int) -> list[TurnRow]:
    """Return a stream's live messages with larger row numbers than `seq`, in order, except those with an expiration
    date.
    """
    written = _E.write.is_(True).label("written")
    query = select(_E.seq, _E.id, _E.role, written, _E.text_hash, _SAID.label("at")).where(
        _E.stream_id == stream_id, _E.seq > seq, _E.expires_at.is_(None), log.live(now)
    )
    return [TurnRow(*row) for row in connection.execute(query.order_by(_E.seq))]


def with_before(
    connection: Connection, user_id: str, episode_ids: Sequence[str], count: int, now: int | None = None
) -> dict[str, list[int]]:
    """Return, for each of these messages, the row numbers of the `count` live messages before it and of the message
    itself.

    They are in stream order, so the message comes last; unknown messages are skipped. Without `now`, no message counts
    as expired.
    """
    query = select(_E.id, _E.seq, _E.stream_id).where(_E.user_id == user_id, _E.id.in_(list(episode_ids)))
    own = connection.execute(query).all()
    found: dict[int, list[int]] = {seq: [seq] for _, seq, _ in own}
    if own:
        each = [_last_before(stream_id, seq, count, now) for _, seq, stream_id in own]
        for row in connection.execute(union_all(*each)):
            found[row.of].append(row.seq)
    return {episode_id: sorted(found[seq]) for episode_id, seq, _ in own}


def said_before(
    connection: Connection, user_id: str, episode_ids: Sequence[str], count: int
) -> dict[str, list[Episode]]:
    """Return, for each message, the messages among the `count` before it that are from the same day and don't
    expire.
    """
    numbered = with_before(connection, user_id, episode_ids, count)
    found = load(connection, user_id, sorted({seq for seqs in numbered.values() for seq in seqs}))
    return {
        episode_id: [
            found[seq]
            for seq in seqs
            if found[seq].expires_at is None and found[seq].occurred_at.date() == found[own].occurred_at.date()
        ]
        for episode_id, (*seqs, own) in numbered.items()
    }


def after(connection: Connection, seqs: Collection[int], count: int) -> list[int]:
    """Return the messages that may have one of these among the `count` live messages before them in their stream.

    The result covers both the time they were read and now: hidden messages in between are included, and only messages
    that were never hidden count towards `count`.
    """
    found: set[int] = set()
    hidden = exists().where(history.c.episode_seq == _E.seq, history.c.event == "DELETE")
    always_live = and_(log.live(), ~hidden).label("always_live")
    for stream_id, seq in connection.execute(select(_E.stream_id, _E.seq).where(_E.seq.in_(list(seqs)))).all():
        later = select(_E.seq, always_live).where(_E.stream_id == stream_id, _E.seq > seq)
        live = 0
        for row in connection.execute(later.order_by(_E.seq)):
            found.add(row.seq)
            live += row.always_live and row.seq not in seqs
            if live == count:
                break
    return sorted(found - set(seqs))


def _last_before(stream_id: str, seq: int, count: int, now: int | None) -> Select[tuple[int, int]]:
    """Select `seq` paired with the row number of each of the last live messages before it."""
    earlier = select(literal(seq).label("of"), _E.seq).where(_E.stream_id == stream_id, _E.seq < seq, log.live(now))
    some = earlier.order_by(_E.seq.desc()).limit(count).subquery()
    return select(some.c.of, some.c.seq)


def newest_elsewhere(connection: Connection, scope: Scope, stream_id: str, seq: int, now: int) -> tuple[int, int]:
    """Return the largest row number and latest time among live messages after `seq` outside a stream; 0 if there are
    none.

    It considers the user's messages, limited to the scope's agent if it names one.
    """
    query = select(func.max(_E.seq), func.max(_SAID)).where(
        _E.user_id == scope.user_id, _E.seq > seq, _E.stream_id != stream_id, log.live(now)
    )
    if scope.agent_id is not None:
        query = query.where(_E.agent_id == scope.agent_id)
    newest, at = connection.execute(query).one()
    return newest or 0, at or 0


def load(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Episode]:
    """Return the user's messages with these row numbers."""
    return {seq: found for some in pages(seqs) for seq, found in log.by_seqs(connection, user_id, some).items()}


def standing(connection: Connection, scope: Scope, now: int) -> list[Episode]:
    """Return the live messages with standing instructions for a user and agent, oldest first.

    Only conversation messages from the user or the program itself count. Documents, replies and lines from a file
    don't, regardless of their metadata (file lines have idempotency keys).
    """
    own = _E.agent_id.is_(None) if scope.agent_id is None else _E.agent_id == scope.agent_id
    query = (
        select(_E.seq)
        .join(streams, streams.c.id == _E.stream_id)
        .where(_E.user_id == scope.user_id, own, _E.metadata != "{}", _E.idempotency_key.is_(None), log.live(now))
        .where(_E.role.in_(("user", "system")), streams.c.source.is_(None))
    )
    found = load(connection, scope.user_id, list(connection.execute(query.order_by(_E.seq)).scalars()))
    return [found[seq] for seq in sorted(found) if found[seq].metadata.get(STANDING) is True]


def encode_now(connection: Connection, user_id: str, episode_id: str, kind: str) -> bool:
    """Queue a deferred message as if the gate had written it; return False if it is already processed or queued."""
    seq, episode = log.require(connection, user_id, episode_id)
    return not episode.encoded and bool(jobs.enqueue(connection, user_id, kind, [(episode.stream_id, seq)]))


def missing(connection: Connection, user_id: str, ids: Collection[str]) -> set[str]:
    """Return the messages that the user does not have, or that are hidden."""
    query = select(_E.id).where(_E.user_id == user_id, log.live())
    some = pages(sorted(set(ids)))
    return set(ids) - {one for page in some for one in connection.execute(query.where(_E.id.in_(page))).scalars()}


def summary_of(connection: Connection, stream_id: str) -> str | None:
    """Return the stream's summary, no matter which turns it covers."""
    return connection.execute(select(drafts.c.text).where(drafts.c.hierarchy_id == stream_id)).scalar()


def rolling_summary(connection: Connection, stream_id: str, keys: Sequence[str]) -> tuple[str, str] | None:
    """Return the stream's summary stored under one of these keys, and its key."""
    row = connection.execute(select(drafts.c.key, drafts.c.text).where(drafts.c.hierarchy_id == stream_id)).first()
    return (row.text, row.key) if row is not None and row.key in set(keys) else None


def keep_rolling_summary(connection: Connection, user_id: str, stream_id: str, key: str, text: str) -> None:
    """Replace the stream's summary."""
    connection.execute(delete(drafts).where(drafts.c.hierarchy_id == stream_id))
    keep_summary(connection, user_id, stream_id, key, text)


def keep_summary(connection: Connection, user_id: str, lane: str, key: str, text: str) -> None:
    """Store a summary next to the others in its lane; an existing one with this key is kept."""
    row = {"hierarchy_id": lane, "key": key, "user_id": user_id, "text": text}
    connection.execute(dialects.insert(connection, drafts).values(**row).on_conflict_do_nothing())


def quoting(connection: Connection, user_id: str, episode_ids: Collection[str]) -> list[str]:
    """Return the ids of the user's replies that were written from these messages or from such replies, oldest first.

    Such replies can repeat the messages verbatim. A summary covers its whole stream up to its last message.
    """
    query = select(_E.seq, _E.id, _E.stream_id, _E.metadata).where(_E.user_id == user_id).order_by(_E.seq)
    marked = [_E.metadata.contains(f'"{key}"', autoescape=True) for key in (EVIDENCE, SUMMARISED)]
    rows = connection.execute(query.where(_E.role == "assistant", or_(*marked))).all()
    seen = [_seen(row.metadata) for row in rows]
    places = _places(connection, user_id, {*episode_ids, *(last for _, last in seen)})
    concerned = set(episode_ids)
    first: dict[str, int] = {}  # by stream, row number of the first message that is concerned
    for one in concerned & places.keys():
        seq, stream = places[one]
        first[stream] = min(seq, first.get(stream, seq))
    replies = []
    for row, (ids, last) in zip(rows, seen, strict=True):  # a reply comes after all that it was written from
        end, stream = places.get(last, (0, ""))
        covers = stream in first and first[stream] <= end
        if row.id not in concerned and (covers or not concerned.isdisjoint(ids)):
            concerned.add(row.id)
            first.setdefault(row.stream_id, row.seq)
            replies.append(row.id)
    return replies


def quoting_none_hidden(
    connection: Connection, user_id: str, replies: Sequence[str], *, besides: Collection[str]
) -> list[str]:
    """Return the replies that would quote no deleted message if `besides` and the replies themselves were restored."""
    query = select(_E.id).where(_E.user_id == user_id, _E.status == "deleted")
    hidden = set(connection.execute(query).scalars()) - {*besides, *replies}
    concerned = set(quoting(connection, user_id, hidden))
    return [reply for reply in replies if reply not in concerned]


def _seen(metadata: str) -> tuple[list[str], str]:
    """Return the ids of the messages that a reply was written from, and the id of the last message in its summary;
    validates the metadata.
    """
    about = decoded(metadata)
    ids, last = about.get(EVIDENCE), about.get(SUMMARISED)
    known = [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []
    return known, last if isinstance(last, str) else ""


def _places(connection: Connection, user_id: str, ids: Collection[str]) -> dict[str, tuple[int, str]]:
    """Return the row number and stream of each of the user's messages with these ids."""
    query = select(_E.id, _E.seq, _E.stream_id).where(_E.user_id == user_id)
    rows = (row for some in pages(sorted(ids)) for row in connection.execute(query.where(_E.id.in_(some))))
    return {row.id: (row.seq, row.stream_id) for row in rows}
