"""The snapshot that an integration starts from: the stored hierarchy, and the chunks to add or remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sqlalchemy import Connection

from nscma_torch.core.errors import StoreFormatError
from nscma_torch.core.jobs.jobs import Job
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.hierarchy.cam import Cam, Change
from nscma_torch.hierarchy.level_rows import cam_of
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import NodeKey, Stored


@dataclass(frozen=True)
class State:
    """A hierarchy as stored."""

    stored: Stored
    cam: Cam
    said: dict[NodeKey, list[int]]  # units of each node that has any
    vectors: torch.Tensor  # [n, d], of the chunks that have a unit, in the order of their nodes


@dataclass(frozen=True)
class Snapshot:
    """The state that an integration starts from."""

    state: State
    chunks: dict[int, list[int]]  # chunk units of each job's episode
    new: list[int]  # those of them that are not in the hierarchy yet
    change: Change

    def same(self, other: Snapshot) -> bool:
        """Return True if integrating the other snapshot gives the same result; a version is never reused for another
        state.
        """
        mine, theirs = self.state.stored, other.state.stored
        return (mine.id, mine.version, self.chunks) == (theirs.id, theirs.version, other.chunks) and all(
            torch.equal(getattr(self.change, name), getattr(other.change, name))
            for name in ("removed", "vectors", "position", "stream")
        )

    @property
    def changes(self) -> bool:
        """Return True if chunks are added or removed."""
        return bool(self.new or len(self.change.removed))


def snapshot(
    connection: Connection, batch: Sequence[Job], known: Sequence[State], device: torch.device
) -> Snapshot | None:
    """Return the snapshot that a batch's jobs start from, reusing `known` states if they are current.

    Returns None if all of the jobs' chunks have been erased.
    """
    state = _state(connection, batch, known, device)
    if state is None:
        return None
    chunks = chunks_of(connection, batch)
    held = {seqs[0] for (level, _), seqs in state.said.items() if level == 0}
    new = [seq for seqs in chunks.values() for seq in seqs if seq not in held]
    base = state.cam.levels[0].nodes.tolist() if state.cam.levels else []
    removed = [number for number in base if (0, number) not in state.said]
    rows = [state.said[0, number][0] for number in base if (0, number) in state.said] + new
    parts = [part for part in (state.vectors, _vectors(connection, new, device)) if len(part)]
    position, stream = _places(connection, rows, new)
    change = Change(
        state.cam,
        torch.tensor(removed, dtype=torch.int64, device=device),
        torch.cat(parts) if parts else state.vectors,
        torch.tensor(position, dtype=torch.int64, device=device),
        torch.tensor(stream, dtype=torch.int64, device=device),
    )
    return Snapshot(state, chunks, new, change)


def chunks_of(connection: Connection, batch: Sequence[Job]) -> dict[int, list[int]]:
    """Return the active chunk units for each job's episode."""
    return units.active_chunks(connection, [job.episode_seq for job in batch if job.episode_seq is not None])


def _state(connection: Connection, batch: Sequence[Job], known: Sequence[State], device: torch.device) -> State | None:
    lane, user_id = batch[0].lane, batch[0].user_id
    version = hierarchies.version_of(connection, lane)
    for state in known:
        if version and (state.stored.id, state.stored.version) == (lane, version):
            return state
    agents = dict(hierarchies.all_of(connection, user_id))
    agents |= hierarchies.of_episodes(connection, [job.episode_seq for job in batch if job.episode_seq is not None])
    if lane not in agents:
        return None
    stored = hierarchies.load(connection, user_id, agents[lane])
    said = hierarchies.units_of(connection, stored.id)
    chunks = [seqs[0] for (level, _), seqs in said.items() if level == 0]
    return State(stored, cam_of(stored.levels, device), said, _vectors(connection, chunks, device))


def _vectors(connection: Connection, seqs: Sequence[int], device: torch.device) -> torch.Tensor:
    """Return vectors [n, d] float32; [0, 1] if there are no units."""
    found = packed_vectors.vectors_of(connection, seqs)
    if len(found) < len(seqs):
        raise StoreFormatError(f"{len(seqs) - len(found)} chunks of a hierarchy have no vector; run `nscma doctor`")
    if not seqs:
        return torch.empty(0, 1, device=device)
    return torch.from_numpy(np.stack([found[seq] for seq in seqs])).to(device)


def _places(connection: Connection, rows: Sequence[int], new: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the position and stream number of each unit; streams without new units have the number -1."""
    place: dict[int, tuple[int, int]] = {}
    for number, stream in enumerate(sorted(set(units.stream_of(connection, new).values()))):
        place |= {seq: (position, number) for seq, position in units.ordinals(connection, stream).items()}
    places = [place.get(seq, (0, -1)) for seq in rows]
    return [position for position, _ in places], [stream for _, stream in places]
