"""The integrate job: add new chunks to a hierarchy, remove deleted ones, and renew the affected summaries.

Everything is computed on the hierarchy as read, and committed in one transaction if its version is unchanged; otherwise
the jobs stay queued. If the process is killed, the store has the state from before or after; finished summaries are
stored as drafts.

The hierarchies for all waiting lanes are clustered together before the first of them is integrated: a small network
needs many short calls, and processing a thousand networks together takes hardly longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from sqlalchemy import Connection

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import NscmaError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.jobs.jobs import Job
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.episodic.index import fingerprint, units
from nscma_torch.episodic.log import streams
from nscma_torch.hierarchy.cam import Cam, assimilate
from nscma_torch.hierarchy.level_rows import to_rows
from nscma_torch.hierarchy.snapshot import Snapshot, State, chunks_of, snapshot
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import LevelRows, NodeKey
from nscma_torch.hierarchy.summaries import Members, Summariser, Superseded, UnitMaker, Written

_MOST_CHUNKS = 1 << 16  # clustered together, unless a single hierarchy has more; 100 MB of vectors at 384 dimensions
_WORTH_AN_IMPORT = 200  # small networks one by one take as long as the import of PyG, which several together need


@dataclass(frozen=True)
class _Clustered:
    """A hierarchy that was clustered in advance."""

    before: Snapshot
    after: Cam


class Integrator:
    """Processes job batches, each for one user and agent.

    Args:
        units: builds the units for summaries.
        device: the device for computing neighbours, personas and clusters.
    """

    def __init__(
        self,
        database: Database,
        units: UnitMaker,
        tasks: LanguageTasks,
        settings: HierarchyConfig,
        device: torch.device,
    ) -> None:
        self._database = database
        self._units = units
        self._summariser = Summariser(database, units, tasks)
        self._settings = settings
        self._device = device
        self._last: State | None = None  # the last written state, valid while its version is the stored one
        self._ahead: dict[str, _Clustered | None] = {}  # by lane; None: clustered separately, in its turn

    def gather(self, batch: Sequence[Job], waiting: Callable[[], Sequence[Sequence[Job]]]) -> None:
        """Cluster the hierarchies for the `waiting` batches, one per lane, together, before `run` is called for them.

        Does nothing if the current batch is ready. `run` uses only results computed from exactly its own input, so it
        commits the same results with and without this call. An unreadable hierarchy is skipped here and fails in its
        own turn.
        """
        if batch[0].lane in self._ahead:
            return
        batches = {own[0].lane: own for own in waiting()}
        self._ahead = {lane: ready for lane, ready in self._ahead.items() if lane in batches}
        fresh = [lane for lane in batches if lane not in self._ahead]
        if len(fresh) < (2 if "torch_geometric" in sys.modules else _WORTH_AN_IMPORT):
            self._ahead |= dict.fromkeys(fresh)
            return
        size = sum(len(ready.before.change.vectors) for ready in self._ahead.values() if ready is not None)
        found: dict[str, Snapshot] = {}
        for lane in fresh:
            before = self._readable(batches[lane])
            if before is None:
                self._ahead[lane] = None
                continue
            size += len(before.change.vectors)
            if found and size > _MOST_CHUNKS:
                break
            found[lane] = before
        after = assimilate([before.change for before in found.values()], self._settings) if found else []
        for (lane, before), cam in zip(found.items(), after, strict=True):
            self._ahead[lane] = _Clustered(before, cam)

    def _readable(self, batch: Sequence[Job]) -> Snapshot | None:
        """Return the snapshot that a batch starts from, or None if there is nothing to cluster."""
        try:
            with self._database.read(batch[0].user_id) as connection:
                found = snapshot(connection, batch, [], self._device)
        except NscmaError:  # it fails, with its reason, in its own turn
            return None
        return found if found is not None and found.changes else None

    def run(self, batch: Sequence[Job]) -> None:
        """Integrate the chunks from these jobs' episodes as one batch (CAM, online clustering updates)."""
        user_id = batch[0].user_id
        ready = self._ahead.get(batch[0].lane)
        known = [state for state in (ready.before.state if ready else None, self._last) if state is not None]
        with self._database.read(user_id) as connection:
            before = snapshot(connection, batch, known, self._device)
        if before is None:
            with self._database.write(user_id) as connection:
                jobs.finish(connection, batch)
            self._ahead.pop(batch[0].lane, None)
            return
        if ready is not None and ready.before.same(before):
            before, after = ready.before, ready.after
        else:
            after = assimilate([before.change], self._settings)[0] if before.changes else before.state.cam
        stored, cam = before.state.stored, before.state.cam
        old, new = cam.members(), after.members()
        said = before.state.said | _placed(before, after)

        def holds(connection: Connection) -> bool:
            unmoved = hierarchies.version_of(connection, stored.id) == stored.version
            return unmoved and chunks_of(connection, batch) == before.chunks

        try:
            written = self._summariser.write(stored, new, _due(old, new, said), said, holds)
            with self._database.write(user_id) as connection:
                if not holds(connection):
                    raise Superseded
                state = self._commit(connection, batch, before, after, new, written)
            self._last = state
        except Superseded:
            pass  # the jobs are still queued, and will use the current state
        self._ahead.pop(batch[0].lane, None)

    def _commit(
        self,
        connection: Connection,
        batch: Sequence[Job],
        before: Snapshot,
        after: Cam,
        members: list[Members],
        written: Mapping[NodeKey, Written],
    ) -> State:
        stored, said = before.state.stored, before.state.said
        there = {(level, number) for level, own in enumerate(members, start=1) for number in own} - set(written)
        stay = {key: seqs for key, seqs in said.items() if key[0] == 0 or key in there}
        fingerprint.bind(connection, self._units.fingerprint)
        dropped = [seq for key, seqs in said.items() if key not in stay for seq in seqs]
        hierarchies.drop_summaries(connection, dropped)
        saved = hierarchies.save(connection, stored, _rows(before.state, after))
        come = _placed(before, after)
        seqs = iter(units.insert(connection, [unit for item in written.values() for unit in item.units]))
        come |= {key: list(islice(seqs, len(item.units))) for key, item in written.items()}
        hierarchies.attach(connection, stored, come)
        hierarchies.forget_drafts(connection, stored.id)
        jobs.finish(connection, batch)
        streams.touch_user(connection, stored.user_id)
        return State(saved, after, stay | come, before.change.vectors)


def _placed(before: Snapshot, after: Cam) -> dict[NodeKey, list[int]]:
    """Return the new chunks as nodes, in order."""
    if not before.new:
        return {}
    numbers = after.levels[0].nodes[-len(before.new) :].tolist()
    return {(0, number): [seq] for number, seq in zip(numbers, before.new, strict=True)}


def _rows(before: State, after: Cam) -> list[LevelRows]:
    """Return the rows for every level; unchanged levels keep their stored rows."""
    old = dict(zip(map(id, before.cam.levels), before.stored.levels, strict=True))
    return [old[id(level)] if id(level) in old else to_rows(level) for level in after.levels]


def _due(old: Sequence[Members], new: Sequence[Members], said: Mapping[NodeKey, Sequence[int]]) -> list[set[int]]:
    """Return, for each level, the nodes with changed members or without a summary."""
    due = []
    for level, members in enumerate(new, start=1):
        before = old[level - 1] if level <= len(old) else {}
        due.append({n for n, own in members.items() if before.get(n) != own or (level, n) not in said})
    return due
