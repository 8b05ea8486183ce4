"""The extract job: atomic facts of what the gate wrote, or deferred and somebody recalled."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.encode.indexer import Indexer
from nscma_torch.protocols import LanguageTasks
from nscma_torch.records import Unit
from nscma_torch.storage import episodes, fingerprint, jobs, streams, units
from nscma_torch.storage.database import Database
from nscma_torch.storage.jobs import Job
from nscma_torch.storage.units import NewUnit


class Extractor:
    """Turns chunk units into atomic-fact units (Structural Memory section 3.1). Runs the same twice without harm."""

    def __init__(self, database: Database, indexer: Indexer, tasks: LanguageTasks) -> None:
        self._database = database
        self._indexer = indexer
        self._tasks = tasks

    def run(self, batch: Sequence[Job]) -> None:
        """Work on one batch of jobs of one user and stream: language first, then one transaction for its results."""
        user_id = batch[0].user_id
        with self._database.read() as connection:
            of_job = {job.seq: units.seqs_of_episode(connection, job.episode_seq, "chunk") for job in batch}
            found = units.load(connection, user_id, [seq for seqs in of_job.values() for seq in seqs])
        chunks: list[tuple[Job, Unit]] = [(job, found[seq]) for job in batch for seq in of_job[job.seq]]
        facts = self._tasks.extract([unit for _, unit in chunks])
        pairs = [(job, fact) for (job, _), own in zip(chunks, facts, strict=True) for fact in own]
        indexed = self._indexer.index([fact for _, fact in pairs], [True] * len(pairs))
        with self._database.write() as connection:
            fingerprint.bind(connection, self._indexer.fingerprint)
            current = {job.episode_seq: units.seqs_of_episode(connection, job.episode_seq, "chunk") for job in batch}
            rows = {}
            earlier = False
            for job in batch:
                if not of_job[job.seq] or current[job.episode_seq] != of_job[job.seq]:
                    continue  # erased meanwhile, or edited: then the job stays, for the new text
                rows[job.episode_seq] = episodes.row_of(connection, job.episode_seq)
                facts_before = units.seqs_of_episode(connection, job.episode_seq, "atomic_fact")
                earlier = earlier or bool(facts_before)
                units.remove(connection, facts_before)
                episodes.set_columns(connection, job.episode_seq, encoded=True)
            new = [
                NewUnit(
                    "atomic_fact",
                    item.chunk.text,
                    rows[job.episode_seq],
                    0,
                    len(item.chunk.text),
                    item.terms,
                    item.vector,
                )
                for (job, _), own in zip(pairs, indexed, strict=True)
                if job.episode_seq in rows
                for item in own
            ]
            units.insert(connection, _distinct(new))
            done = [job for job in batch if job.episode_seq in rows or not current[job.episode_seq]]
            jobs.finish(connection, done)
            if rows:
                streams.touch_user(connection, user_id, changed=earlier)


def _distinct(new: Sequence[NewUnit]) -> list[NewUnit]:
    """Without facts that one message states twice in the same words."""
    seen = {(unit.episode["seq"], unit.text): unit for unit in reversed(new)}
    return list(reversed(seen.values()))
