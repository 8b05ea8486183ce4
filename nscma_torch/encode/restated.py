"""The restate job: a message that repeats an earlier one says something new where what that one said no longer holds.

The gate defers repetitions, and "I live in Rome" repeats the same sentence of last year also after "I moved to Oslo".
What was extracted from the earlier message tells the difference without a second reading.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from nscma_torch.encode.writer import EXTRACT, RESTATE
from nscma_torch.relations import Schema, family
from nscma_torch.storage import episodes, jobs, lanes, statements
from nscma_torch.storage.database import Database
from nscma_torch.storage.jobs import Job
from nscma_torch.storage.statements import StatementRow


class Restatements:
    """Queues for extraction the repetitions that renew what was ended or replaced since it was last said."""

    def __init__(self, database: Database, schema: Schema) -> None:
        self._database = database
        self._schema = schema

    def run(self, batch: Sequence[Job]) -> None:
        """Work on one batch of jobs, each of a deferred message whose text the user has said before.

        One goes to the end of the queue while an earlier message of the user still waits for its extraction.
        """
        with self._database.write() as connection:
            jobs.finish(connection, batch)
            for job in batch:
                assert job.episode_seq is not None, "a message repeats, not a stream"
                if jobs.queued(connection, job.user_id, (EXTRACT,), before=job.episode_seq):
                    jobs.enqueue(connection, job.user_id, RESTATE, [(job.lane, job.episode_seq)])
                elif self._renews(connection, job.user_id, job.episode_seq):
                    jobs.enqueue(connection, job.user_id, EXTRACT, [(job.lane, job.episode_seq)])

    def _renews(self, connection: Connection, user_id: str, seq: int) -> bool:
        """Whether what an episode repeats was replaced since; False for one that is gone."""
        found = episodes.whose_text(connection, seq)
        if found is None:
            return False
        agent_id, text_hash = found
        lane = lanes.lane_of(user_id, agent_id)
        said = statements.last_said(connection, lane, text_hash, before=seq)
        if not said:
            return False
        subjects = {statement.subject for statement in said}
        since = statements.between(connection, lane, subjects, after=said[0].episode_seq, before=seq)
        return any(self._replaced(old, new) for old in said for new in since)

    def _replaced(self, old: StatementRow, new: StatementRow) -> bool:
        """Whether a later statement leaves an earlier one out of date."""
        if (new.subject, new.topic) != (old.subject, old.topic):
            return False
        if new.relation not in family(old.relation, self._schema):
            return False
        if new.object_key == old.object_key:
            return (new.relation, new.negated, new.past) != (old.relation, old.negated, old.past)
        return old.relation in self._schema and self._schema[old.relation].cardinality == "one"
