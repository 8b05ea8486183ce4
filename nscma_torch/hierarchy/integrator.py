"""The integrate job: brings new chunks into a hierarchy, takes removed ones out, and renews the summaries concerned.

Everything is computed on the hierarchy as it was read and committed at once, if it is still that one; else the jobs
stay queued. A kill leaves the state before or after; summaries written by then wait as drafts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sqlalchemy import Connection

from nscma_torch.hierarchy.cam import Cam, assimilate, foundation
from nscma_torch.hierarchy.rows import cam_of, to_rows
from nscma_torch.hierarchy.settings import CamSettings
from nscma_torch.hierarchy.summaries import Members, Summariser, Superseded, UnitMaker, Written
from nscma_torch.protocols import LanguageTasks
from nscma_torch.storage import fingerprint, hierarchies, jobs, streams, units
from nscma_torch.storage.database import Database
from nscma_torch.storage.hierarchies import NodeKey, Stored
from nscma_torch.storage.jobs import Job


@dataclass(frozen=True)
class _Snapshot:
    """What one integration starts from."""

    stored: Stored
    cam: Cam
    said: dict[NodeKey, list[int]]  # units of each node
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
        settings: CamSettings,
        device: torch.device,
    ) -> None:
        self._database = database
        self._units = units
        self._summariser = Summariser(database, units, tasks)
        self._settings = settings
        self._device = device
        self._last: tuple[Stored, Cam] | None = None  # the newest state read or written, valid while its version is

    def run(self, batch: Sequence[Job]) -> None:
        """Integrate the chunks of these jobs' episodes as one batch (CAM, online clustering updates)."""
        with self._database.read() as connection:
            before = self._snapshot(connection, batch)
        if before is None:
            with self._database.write() as connection:
                jobs.finish(connection, batch)
            return
        after = self._assimilated(before)
        old, new = before.cam.members(self._settings), after.members(self._settings)
        said = {**before.said, **self._placed(before, after)}

        def holds(connection: Connection) -> bool:
            moved = hierarchies.version_of(connection, before.stored.id) != before.stored.version
            return not moved and _chunks(connection, batch) == before.chunks

        try:
            written = self._summariser.write(before.stored, new, _due(old, new, said), said, holds)
            with self._database.write() as connection:
                if not holds(connection):
                    raise Superseded
                saved = self._commit(connection, batch, before, after, new, written)
            self._last = (saved, after)
        except Superseded:
            return  # the jobs are still queued, and will find what is there now

    def _snapshot(self, connection: Connection, batch: Sequence[Job]) -> _Snapshot | None:
        """None where everything that the jobs are about has been erased."""
        state = self._state(connection, batch)
        if state is None:
            return None
        stored, cam = state
        said = hierarchies.units_of(connection, stored.id)
        chunks = _chunks(connection, batch)
        known = {seq for (level, _), seqs in said.items() if level == 0 for seq in seqs}
        new = [seq for seqs in chunks.values() for seq in seqs if seq not in known]
        base = cam.levels[0].nodes.tolist() if cam.levels else []
        removed = [number for number in base if (0, number) not in said]
        rows = [said[0, number][0] for number in base if (0, number) in said] + new
        vectors = units.vectors_of(connection, rows)
        position, stream = _places(connection, rows, new)
        return _Snapshot(
            stored,
            cam,
            said,
            chunks,
            new,
            torch.tensor(removed, dtype=torch.int64),
            torch.from_numpy(np.stack([vectors[seq] for seq in rows])) if rows else torch.empty(0, 1),
            position,
            stream,
        )

    def _state(self, connection: Connection, batch: Sequence[Job]) -> tuple[Stored, Cam] | None:
        lane, user_id = batch[0].lane, batch[0].user_id
        version = hierarchies.version_of(connection, lane)
        if self._last and version and (self._last[0].id, self._last[0].version) == (lane, version):
            return self._last
        agents = dict(hierarchies.all_of(connection, user_id))
        agents |= hierarchies.of_episodes(connection, [job.episode_seq for job in batch if job.episode_seq is not None])
        if lane not in agents:
            return None
        stored = hierarchies.load(connection, user_id, agents[lane])
        return stored, cam_of(stored.levels, self._device)

    def _assimilated(self, before: _Snapshot) -> Cam:
        if not before.new and not len(before.removed):
            return before.cam
        edit = foundation(
            before.cam,
            before.removed.to(self._device),
            before.vectors.to(self._device),
            before.position.to(self._device),
            before.stream.to(self._device),
            self._settings,
        )
        return assimilate(before.cam, edit, self._settings)

    def _placed(self, before: _Snapshot, after: Cam) -> dict[NodeKey, list[int]]:
        """The new chunks as nodes, in order."""
        if not before.new:
            return {}
        numbers = after.levels[0].nodes[-len(before.new) :].tolist()
        return {(0, number): [seq] for number, seq in zip(numbers, before.new, strict=True)}

    def _commit(
        self,
        connection: Connection,
        batch: Sequence[Job],
        before: _Snapshot,
        after: Cam,
        members: list[Members],
        written: Mapping[NodeKey, Written],
    ) -> Stored:
        stored = before.stored
        stay = {(level, number) for level, own in enumerate(members, start=1) for number in own} - set(written)
        levels = tuple(map(to_rows, after.levels))
        fingerprint.bind(connection, self._units.fingerprint)
        dropped = [seq for key, seqs in before.said.items() if key[0] and key not in stay for seq in seqs]
        hierarchies.drop_summaries(connection, dropped)
        saved = hierarchies.save(connection, stored, levels)
        hierarchies.attach(connection, stored, self._placed(before, after))
        for key, item in written.items():
            hierarchies.attach(connection, stored, {key: units.insert(connection, item.units)})
        hierarchies.forget_drafts(connection, stored.id)
        jobs.finish(connection, batch)
        streams.touch_user(connection, stored.user_id, changed=bool(dropped))
        return saved


def _due(old: Sequence[Members], new: Sequence[Members], said: Mapping[NodeKey, Sequence[int]]) -> list[set[int]]:
    """For each level, the nodes whose members changed, or that have no summary."""
    due = []
    for level, members in enumerate(new, start=1):
        before = old[level - 1] if level <= len(old) else {}
        due.append({n for n, own in members.items() if before.get(n) != own or (level, n) not in said})
    return due


def _chunks(connection: Connection, batch: Sequence[Job]) -> dict[int, list[int]]:
    return units.active_chunks(connection, [job.episode_seq for job in batch if job.episode_seq is not None])


def _places(connection: Connection, rows: Sequence[int], new: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Position and stream number of each unit; units of streams that none of the new ones is in have stream -1."""
    stream_of = units.stream_of(connection, rows)
    concerned = sorted({stream_of[seq] for seq in new})
    numbers = {stream: number for number, stream in enumerate(concerned)}
    ordinal = {seq: place for stream in concerned for seq, place in units.ordinals(connection, stream).items()}
    position = torch.tensor([ordinal.get(seq, 0) for seq in rows], dtype=torch.int64)
    return position, torch.tensor([numbers.get(stream_of[seq], -1) for seq in rows], dtype=torch.int64)
