"""The integrate job: brings new chunks into a hierarchy, takes removed ones out, and renews the summaries concerned.

Everything is computed on the hierarchy as it was read, and committed at once if its version is unchanged; else the jobs
stay queued. A kill leaves the state before or after; finished summaries are kept as drafts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from sqlalchemy import Connection

from nscma_torch.config import Hierarchy
from nscma_torch.errors import StoreFormatError
from nscma_torch.hierarchy.cam import Cam, assimilate, foundation
from nscma_torch.hierarchy.level_rows import cam_of, to_rows
from nscma_torch.hierarchy.summaries import Members, Summariser, Superseded, UnitMaker, Written
from nscma_torch.protocols import LanguageTasks
from nscma_torch.storage import fingerprint, hierarchies, jobs, packed_vectors, streams, units
from nscma_torch.storage.database import Database
from nscma_torch.storage.hierarchies import LevelRows, NodeKey, Stored
from nscma_torch.storage.jobs import Job


@dataclass(frozen=True)
class _State:
    """A hierarchy as it is stored."""

    stored: Stored
    cam: Cam
    said: dict[NodeKey, list[int]]  # units of each node that has any
    vectors: torch.Tensor  # [n, d], of the chunks that have a unit, in the order of their nodes


@dataclass(frozen=True)
class _Snapshot:
    """The state that one integration starts from."""

    state: _State
    chunks: dict[int, list[int]]  # chunk units of each job's episode
    new: list[int]  # those of them that are not in the hierarchy yet
    removed: torch.Tensor  # [r] int64, numbers of chunks that are to go
    vectors: torch.Tensor  # [n + a, d], of the nodes that stay, then of the new ones
    position: torch.Tensor  # [n + a] int64
    stream: torch.Tensor  # [n + a] int64


class Integrator:
    """Works on batches of one user and agent.

    Args:
        units: makes units of summaries.
        device: where neighbours, personas and clusters are computed.
    """

    def __init__(
        self,
        database: Database,
        units: UnitMaker,
        tasks: LanguageTasks,
        settings: Hierarchy,
        device: torch.device,
    ) -> None:
        self._database = database
        self._units = units
        self._summariser = Summariser(database, units, tasks)
        self._settings = settings
        self._device = device
        self._last: _State | None = None  # what was written last, valid while its version is the stored one

    def run(self, batch: Sequence[Job]) -> None:
        """Integrate the chunks of these jobs' episodes as one batch (CAM, online clustering updates)."""
        with self._database.read() as connection:
            before = self._snapshot(connection, batch)
        if before is None:
            with self._database.write() as connection:
                jobs.finish(connection, batch)
            return
        stored, cam = before.state.stored, before.state.cam
        after = self._assimilated(before)
        old, new = cam.members(), after.members()
        said = before.state.said | _placed(before, after)

        def holds(connection: Connection) -> bool:
            unmoved = hierarchies.version_of(connection, stored.id) == stored.version
            return unmoved and _chunks(connection, batch) == before.chunks

        try:
            written = self._summariser.write(stored, new, _due(old, new, said), said, holds)
            with self._database.write() as connection:
                if not holds(connection):
                    raise Superseded
                state = self._commit(connection, batch, before, after, new, written)
            self._last = state
        except Superseded:
            return  # the jobs are still queued, and will find what is there now

    def _snapshot(self, connection: Connection, batch: Sequence[Job]) -> _Snapshot | None:
        """None where everything that the jobs are about has been erased."""
        state = self._state(connection, batch)
        if state is None:
            return None
        chunks = _chunks(connection, batch)
        known = {seqs[0] for (level, _), seqs in state.said.items() if level == 0}
        new = [seq for seqs in chunks.values() for seq in seqs if seq not in known]
        base = state.cam.levels[0].nodes.tolist() if state.cam.levels else []
        removed = [number for number in base if (0, number) not in state.said]
        rows = [state.said[0, number][0] for number in base if (0, number) in state.said] + new
        vectors = torch.cat([state.vectors, _vectors(connection, new, self._device)])
        position, stream = _places(connection, rows, new)
        device = self._device
        return _Snapshot(
            state,
            chunks,
            new,
            torch.tensor(removed, dtype=torch.int64, device=device),
            vectors,
            torch.tensor(position, dtype=torch.int64, device=device),
            torch.tensor(stream, dtype=torch.int64, device=device),
        )

    def _state(self, connection: Connection, batch: Sequence[Job]) -> _State | None:
        lane, user_id = batch[0].lane, batch[0].user_id
        version = hierarchies.version_of(connection, lane)
        if self._last and version and (self._last.stored.id, self._last.stored.version) == (lane, version):
            return self._last
        agents = dict(hierarchies.all_of(connection, user_id))
        agents |= hierarchies.of_episodes(connection, [job.episode_seq for job in batch if job.episode_seq is not None])
        if lane not in agents:
            return None
        stored = hierarchies.load(connection, user_id, agents[lane])
        said = hierarchies.units_of(connection, stored.id)
        chunks = [seqs[0] for (level, _), seqs in said.items() if level == 0]
        vectors = _vectors(connection, chunks, self._device)
        return _State(stored, cam_of(stored.levels, self._device), said, vectors)

    def _assimilated(self, before: _Snapshot) -> Cam:
        cam = before.state.cam
        if not before.new and not len(before.removed):
            return cam
        vectors = before.vectors if len(before.vectors) else before.vectors.reshape(0, 1)
        places = vectors, before.position, before.stream
        return assimilate(cam, foundation(cam, before.removed, *places, self._settings), self._settings)

    def _commit(
        self,
        connection: Connection,
        batch: Sequence[Job],
        before: _Snapshot,
        after: Cam,
        members: list[Members],
        written: Mapping[NodeKey, Written],
    ) -> _State:
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
        return _State(saved, after, stay | come, before.vectors)


def _placed(before: _Snapshot, after: Cam) -> dict[NodeKey, list[int]]:
    """The new chunks as nodes, in order."""
    if not before.new:
        return {}
    numbers = after.levels[0].nodes[-len(before.new) :].tolist()
    return {(0, number): [seq] for number, seq in zip(numbers, before.new, strict=True)}


def _rows(before: _State, after: Cam) -> list[LevelRows]:
    """Rows of every level; those of a level that did not change are the stored ones."""
    old = dict(zip(map(id, before.cam.levels), before.stored.levels, strict=True))
    return [old[id(level)] if id(level) in old else to_rows(level) for level in after.levels]


def _vectors(connection: Connection, seqs: Sequence[int], device: torch.device) -> torch.Tensor:
    """[n, d] float32; without any row, a tensor that `torch.cat` passes over."""
    found = packed_vectors.vectors_of(connection, seqs)
    if len(found) < len(seqs):
        raise StoreFormatError(f"{len(seqs) - len(found)} chunks of a hierarchy have no vector; run `nscma doctor`")
    return (
        torch.from_numpy(np.stack([found[seq] for seq in seqs])).to(device) if seqs else torch.empty(0, device=device)
    )


def _due(old: Sequence[Members], new: Sequence[Members], said: Mapping[NodeKey, Sequence[int]]) -> list[set[int]]:
    """For each level, the nodes whose members changed, or that have no summary."""
    due = []
    for level, members in enumerate(new, start=1):
        before = old[level - 1] if level <= len(old) else {}
        due.append({n for n, own in members.items() if before.get(n) != own or (level, n) not in said})
    return due


def _chunks(connection: Connection, batch: Sequence[Job]) -> dict[int, list[int]]:
    return units.active_chunks(connection, [job.episode_seq for job in batch if job.episode_seq is not None])


def _places(connection: Connection, rows: Sequence[int], new: Sequence[int]) -> tuple[list[int], list[int]]:
    """Position and stream number of each unit; units of streams that none of the new ones is in have stream -1."""
    place: dict[int, tuple[int, int]] = {}
    for number, stream in enumerate(sorted(set(units.stream_of(connection, new).values()))):
        place |= {seq: (position, number) for seq, position in units.ordinals(connection, stream).items()}
    places = [place.get(seq, (0, -1)) for seq in rows]
    return [position for position, _ in places], [stream for _, stream in places]
