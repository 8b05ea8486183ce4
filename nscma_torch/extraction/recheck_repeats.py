"""The restate job: extract a repetition of an earlier message if the facts from that message no longer hold.

The gate defers repetitions, and "I live in Rome" repeats last year's sentence even after "I moved to Oslo". The facts
made from the earlier message reveal the difference without a second reading. These jobs run after all others, when the
facts are up to date, one by one in the order said.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from nscma_torch.core.database.database import Database
from nscma_torch.core.jobs import jobs
from nscma_torch.core.jobs.jobs import Job
from nscma_torch.episodic.log import backlog
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.semantic.store import facts, statements


class RepeatRecheck:
    """Queues a repetition for extraction, unless everything that its speaker said earlier in the same words still
    holds.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(self, batch: Sequence[Job]) -> None:
        """Process jobs for deferred messages whose text was already in the user's memory."""
        with self._database.write(batch[0].user_id) as connection:
            for job in batch:
                assert job.episode_seq is not None, "a message repeats, not a stream"
                if _renews(connection, job.user_id, job.episode_seq):
                    jobs.enqueue(connection, job.user_id, EXTRACT, [(job.lane, job.episode_seq)])
            jobs.finish(connection, batch)


def _renews(connection: Connection, user_id: str, seq: int) -> bool:
    if jobs.failed(connection, user_id, EXTRACT, before=seq):  # the effect of that is unknown
        return True
    earlier = backlog.same_said(connection, seq)
    if not earlier:
        return True
    read = [one for one, encoded in earlier if encoded]
    if not read:  # the gate found nothing in these words, the first time and every time
        return False
    said = statements.of_episodes(connection, [read[-1]]).get(read[-1], [])
    return not set(said) <= facts.holding(connection, said)
