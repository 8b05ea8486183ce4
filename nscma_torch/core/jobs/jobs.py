"""The queue of background jobs.

A job's row is deleted in the transaction that commits its work; a failed job stays, with its error.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, select, true, union_all

from nscma_torch.core.database.database import next_seqs, pages
from nscma_torch.core.database.schema import episodes, jobs, recalls
from nscma_torch.core.jobs import leases

FORGOTTEN = "its error was erased together with a message that it may have quoted"  # in place of an error


_INSERT = jobs.insert()
_NEVER = 2**62  # beyond every row number
_JOB = (jobs.c.seq, jobs.c.user_id, jobs.c.kind, jobs.c.lane, jobs.c.episode_seq, jobs.c.attempts)
# A lane as a whole comes first. Not the column itself, whose index SQLite would walk through the jobs of all lanes.
_SAID = func.coalesce(jobs.c.episode_seq, 0)


@dataclass(frozen=True, slots=True)
class Job:
    """A job on one episode or on its whole lane. `attempts` counts its failures so far."""

    seq: int
    user_id: str
    kind: str
    lane: str
    episode_seq: int | None
    attempts: int


def enqueue(connection: Connection, user_id: str, kind: str, subjects: Sequence[tuple[str, int | None]]) -> int:
    """Queue one job for each (lane, episode) that has no job of this kind yet; return the number queued.

    The lane is the id of a stream or hierarchy; jobs on a lane are processed together. If the episode is None, the job
    is on the whole lane. Failed jobs are queued again.
    """
    known: set[tuple[str, int | None]] = set()
    failed: list[int] = []
    for some in pages(subjects):
        lanes, seqs = {lane for lane, _ in some}, [seq for _, seq in some if seq is not None]
        query = select(jobs.c.seq, jobs.c.lane, jobs.c.episode_seq, jobs.c.state).where(
            jobs.c.kind == kind,
            jobs.c.lane.in_(lanes),
            jobs.c.episode_seq.in_(seqs) | jobs.c.episode_seq.is_(None),
        )
        waiting = [row for row in connection.execute(query) if (row.lane, row.episode_seq) in set(some)]
        known.update((row.lane, row.episode_seq) for row in waiting)
        failed += [row.seq for row in waiting if row.state == "failed"]
    for numbers in pages(failed):
        again = jobs.update().where(jobs.c.seq.in_(numbers))
        connection.execute(again.values(state="queued", attempts=0))
    new = [subject for subject in dict.fromkeys(subjects) if subject not in known]
    enqueue_new(connection, user_id, kind, new)
    return len(new)


def enqueue_new(connection: Connection, user_id: str, kind: str, subjects: Sequence[tuple[str, int | None]]) -> None:
    """Queue one job for each (lane, episode). They must be distinct and have no job of this kind, like new episodes."""
    if not subjects:
        return
    numbers = next_seqs(connection, "jobs", len(subjects))
    own = {"user_id": user_id, "kind": kind, "state": "queued", "attempts": 0}
    rows = [
        {"seq": number, "lane": lane, "episode_seq": seq, **own}
        for number, (lane, seq) in zip(numbers, subjects, strict=True)
    ]
    connection.execute(_INSERT, rows)


def next_batch(
    connection: Connection,
    sizes: Mapping[str, int],
    *,
    alone: Collection[str] = (),
    stages: Mapping[str, int] | None = None,
    user_id: str | None = None,
    owner: str | None = None,
    up_to: int | None = None,
) -> list[Job]:
    """Return the oldest queued job whose kind is in `sizes`, with more jobs of its kind and lane, in message order.

    Batches are cut by count (`sizes` for each kind) and by lane, never by time, so timing can't change a result. A
    failed batch is retried unchanged. `alone` lists kinds whose jobs are independent: a batch takes them from all of a
    user's lanes, and after a failure they run one by one, so one bad message doesn't block others. A kind in a later
    stage (the default is 0) waits until no job in an earlier stage is queued. `user_id` selects only this user's jobs,
    `owner` those of users leased to this owner, `up_to` jobs on episodes up to this row number or on whole lanes.
    """
    early = _early(up_to)
    first = _oldest(connection, sizes, stages or {}, _of(user_id, owner) & early)
    if first is None:
        return []
    if first.attempts and first.kind in alone:
        return [first]
    together = jobs.c.user_id == first.user_id if first.kind in alone else jobs.c.lane == first.lane
    return _beside(connection, first, together & early, sizes[first.kind])


def _oldest(
    connection: Connection, kinds: Collection[str], stages: Mapping[str, int], wanted: ColumnElement[bool]
) -> Job | None:
    """Return the oldest queued job in the first stage that has one."""
    of_stage: dict[int, list[str]] = {}
    for kind in kinds_queued(connection, kinds):
        of_stage.setdefault(stages.get(kind, 0), []).append(kind)
    for stage in sorted(of_stage):
        own = select(*_JOB).where(jobs.c.state == "queued", jobs.c.kind.in_(of_stage[stage]), wanted)
        first = connection.execute(own.order_by(jobs.c.seq).limit(1)).first()
        if first is not None:
            return Job(*first)
    return None


def _of(user_id: str | None, owner: str | None) -> ColumnElement[bool]:
    """Build the condition that selects jobs by user and by lease owner; None doesn't restrict."""
    leased = true() if owner is None else leases.held_by(jobs.c.user_id, leases.JOBS, owner)
    return leased if user_id is None else and_(jobs.c.user_id == user_id, leased)


def next_of_lanes(
    connection: Connection,
    kind: str,
    size: int,
    *,
    user_id: str | None = None,
    owner: str | None = None,
    up_to: int | None = None,
) -> Iterator[list[Job]]:
    """Yield the next batch from each lane for a per-lane kind, in the same order as `next_batch`."""
    first, early = func.min(jobs.c.seq), _early(up_to)
    own = (jobs.c.state == "queued", jobs.c.kind == kind, early, _of(user_id, owner))
    lanes = select(first).where(*own).group_by(jobs.c.lane).order_by(first)
    for seq in connection.execute(lanes).scalars().all():
        oldest = Job(*connection.execute(select(*_JOB).where(jobs.c.seq == seq)).one())
        yield _beside(connection, oldest, (jobs.c.lane == oldest.lane) & early, size)


def batches_ahead(connection: Connection, kind: str, size: int, *, most: int) -> list[list[Job]]:
    """Return the batches that `next_batch` returns next, up to `most` jobs, for a kind that spans a user's lanes.

    Omits jobs that have failed before, as those are retried one by one.
    """
    query = select(*_JOB).where(jobs.c.state == "queued", jobs.c.kind == kind, jobs.c.attempts == 0)
    of_user: dict[str, list[Job]] = {}
    for row in connection.execute(query.order_by(_SAID, jobs.c.seq)):
        of_user.setdefault(row.user_id, []).append(Job(*row))
    oldest = [(own[0].seq, user_id, 0) for user_id, own in of_user.items()]
    heapq.heapify(oldest)
    batches: list[list[Job]] = []
    while oldest and most > 0:
        _, user_id, at = heapq.heappop(oldest)
        own = of_user[user_id]
        batches.append(own[at : at + min(size, most)])
        most -= len(batches[-1])
        if at + size < len(own):
            heapq.heappush(oldest, (own[at + size].seq, user_id, at + size))
    return batches


def _early(up_to: int | None) -> ColumnElement[bool]:
    """Build the condition that a job is on an episode up to this row number, or on a whole lane."""
    return true() if up_to is None else up_to >= _SAID


def _beside(connection: Connection, first: Job, together: ColumnElement[bool], size: int) -> list[Job]:
    """Return the first `size` queued jobs with the kind and attempts of `first`, in message order."""
    beside = select(*_JOB).where(jobs.c.state == "queued", jobs.c.kind == first.kind, together)
    beside = beside.where(jobs.c.attempts == first.attempts)
    ordered = beside.order_by(_SAID, jobs.c.seq).limit(size)
    return [Job(*row) for row in connection.execute(ordered)]


def whole_batches(
    connection: Connection, kind: str, size: int, *, up_to: int, owner: str | None = None
) -> Iterator[list[Job]]:
    """Yield the next batch from each lane, if its composition is already final.

    A batch consists of a lane's first `size` jobs on episodes up to the row number `up_to`, or of the single job on the
    whole lane. `next_batch` would return the same batches once everything is queued.
    """
    own = (jobs.c.state == "queued", jobs.c.kind == kind, _of(None, owner))
    on_lanes = select(*_JOB).where(*own, jobs.c.episode_seq.is_(None)).order_by(jobs.c.seq)
    alone = [Job(*row) for row in connection.execute(on_lanes)]
    yield from ([job] for job in alone)
    upon = (*own, jobs.c.episode_seq.is_not(None), _early(up_to))
    full = select(jobs.c.lane).where(*upon).group_by(jobs.c.lane).having(func.count() >= size)
    lanes = connection.execute(full.order_by(func.min(jobs.c.seq))).scalars().all()
    taken = {job.lane for job in alone}
    for lane in (lane for lane in lanes if lane not in taken):
        batch = select(*_JOB).where(*upon, jobs.c.lane == lane).order_by(_SAID, jobs.c.seq).limit(size)
        yield [Job(*row) for row in connection.execute(batch)]


def all_queued(connection: Connection, batch: Sequence[Job]) -> bool:
    """Return True if all jobs of a batch are still queued."""
    found = 0
    for some in pages([job.seq for job in batch]):
        there = select(func.count()).where(jobs.c.seq.in_(some), jobs.c.state == "queued")
        found += connection.execute(there).scalar_one()
    return found == len(batch)


def kinds_queued(connection: Connection, kinds: Collection[str]) -> list[str]:
    """Return the kinds that have a queued job."""
    any_of = select(jobs.c.lane).where(jobs.c.state == "queued").limit(1)  # from the index by kind and lane alone
    return [kind for kind in kinds if connection.execute(any_of.where(jobs.c.kind == kind)).first() is not None]


def waiting(connection: Connection, kinds: Collection[str]) -> bool:
    """Return True if jobs of these kinds are queued, or recalls are waiting to be counted."""
    recalled = connection.execute(select(recalls.c.user_id).limit(1)).first() is not None
    return recalled or bool(kinds_queued(connection, kinds))


def users_waiting(kinds: Collection[str], *, up_to: int | None = None) -> Select[str]:
    """Select the users with a queued job of these kinds, oldest job first, then the users with recalls."""
    early = (jobs.c.state == "queued", jobs.c.kind.in_(kinds), _early(up_to))
    of_jobs = select(jobs.c.user_id, func.min(jobs.c.seq).label("oldest")).where(*early).group_by(jobs.c.user_id)
    of_recalls = select(recalls.c.user_id, literal(_NEVER)).distinct()
    both = union_all(of_jobs, of_recalls).subquery()
    return select(both.c.user_id).group_by(both.c.user_id).order_by(func.min(both.c.oldest), both.c.user_id)


def queued(connection: Connection, user_id: str, kinds: Collection[str], *, or_failed: bool = False) -> bool:
    """Return True if a user has queued jobs of these kinds; `or_failed` includes failed ones."""
    states = ("queued", "failed") if or_failed else ("queued",)
    query = select(jobs.c.seq).where(jobs.c.state.in_(states), jobs.c.user_id == user_id, jobs.c.kind.in_(kinds))
    return connection.execute(query.limit(1)).first() is not None


def waiting_episodes(connection: Connection, user_id: str, kinds: Collection[str]) -> dict[str, int]:
    """Return the number of a user's active episodes that have a job of these kinds, by job state."""
    shown = (episodes.c.seq == jobs.c.episode_seq) & (episodes.c.status == "active")
    state = func.max(jobs.c.state)  # of an episode with several, "queued" before "failed"
    query = select(jobs.c.episode_seq, state).join(episodes, shown).group_by(jobs.c.episode_seq)
    query = query.where(jobs.c.user_id == user_id, jobs.c.kind.in_(kinds))
    return dict(Counter(state for _, state in connection.execute(query)))


def failed(connection: Connection, user_id: str, kind: str, *, before: int) -> bool:
    """Return True if this user has a failed job of this kind on an episode before row number `before`."""
    query = select(jobs.c.seq).where(jobs.c.state == "failed", jobs.c.user_id == user_id, jobs.c.kind == kind)
    return connection.execute(query.where(jobs.c.episode_seq < before).limit(1)).first() is not None


def finish(connection: Connection, done: Sequence[Job]) -> None:
    """Delete finished jobs, in the same transaction that stores their results."""
    for some in pages([job.seq for job in done]):
        connection.execute(jobs.delete().where(jobs.c.seq.in_(some)))


def withdraw(connection: Connection, kind: str, episode_seq: int) -> None:
    """Delete an episode's job of this kind, if there is one."""
    connection.execute(jobs.delete().where(jobs.c.kind == kind, jobs.c.episode_seq == episode_seq))


def clear(connection: Connection, kind: str, lane: str) -> None:
    """Delete all jobs of this kind on a lane."""
    connection.execute(jobs.delete().where(jobs.c.kind == kind, jobs.c.lane == lane))


def fail(
    connection: Connection, failed: Sequence[Job], error: str, *, max_attempts: int, alone: Collection[str] = ()
) -> None:
    """Record a failure; after `max_attempts` failures, a job stays failed until `retry`.

    A job whose kind is in `alone` counts as failed only if it fails alone, as another job in its batch may be the
    cause.
    """
    for job in failed:
        last = job.attempts + 1 >= max_attempts and (len(failed) == 1 or job.kind not in alone)
        state = "failed" if last else "queued"
        values = {"attempts": job.attempts + 1, "state": state, "error": error}
        connection.execute(jobs.update().where(jobs.c.seq == job.seq).values(**values))


def forget_errors(connection: Connection, user_id: str) -> None:
    """Delete the errors stored with a user's jobs, as they quote model replies, which may repeat messages."""
    told = jobs.update().where(jobs.c.user_id == user_id, jobs.c.error.is_not(None))
    connection.execute(told.values(error=FORGOTTEN))


def retry(connection: Connection) -> int:
    """Queue all failed jobs again; return their number."""
    return connection.execute(jobs.update().where(jobs.c.state == "failed").values(state="queued", attempts=0)).rowcount


def states(connection: Connection, user_id: str | None = None) -> dict[str, int]:
    """Count jobs by state."""
    query = select(jobs.c.state, func.count()).group_by(jobs.c.state)
    if user_id is not None:
        query = query.where(jobs.c.user_id == user_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def failures(connection: Connection, user_id: str | None = None) -> list[str]:
    """Return the distinct errors from jobs that failed or were postponed after a failure."""
    query = select(jobs.c.error).where(_tried(user_id)).distinct().order_by(jobs.c.error)
    return [error for error in connection.execute(query).scalars() if error]


def put_off(connection: Connection, user_id: str | None = None) -> bool:
    """Return True if a job is postponed because its language engine was unreachable."""
    query = select(jobs.c.seq).where(_tried(user_id), jobs.c.state == "queued").limit(1)
    return connection.execute(query).first() is not None


def _tried(user_id: str | None) -> ColumnElement[bool]:
    tried = (jobs.c.state == "failed") | (jobs.c.attempts > 0)
    return tried if user_id is None else tried & (jobs.c.user_id == user_id)
