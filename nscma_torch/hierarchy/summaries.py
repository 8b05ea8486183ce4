"""Write the summaries that an integration needs, from the bottom up, in one language batch per level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import JobError, StoreFormatError
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Scope, Unit
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.units import NewUnit, Weight
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import NodeKey, Stored

Members = dict[int, tuple[int, ...]]  # of each node of a level, numbers of the level below


class UnitMaker(Protocol):
    """Builds units from texts; `ingest.indexer` implements it."""

    @property
    def fingerprint(self) -> str:
        """Return the embedder's fingerprint."""

    def units(self, kind: str, texts: Sequence[str], origins: Sequence[Mapping[str, Any]]) -> list[list[NewUnit]]:
        """Return the units for each text: one, or several if the text is too long for the embedder."""


@dataclass(frozen=True, slots=True)
class Written:
    """A new summary, consisting of one or more units."""

    text: str
    units: list[NewUnit]
    weight: Weight


class Superseded(Exception):  # noqa: N818 - not an error: the work is done again on the new state
    """Raised if the hierarchy changed while its summaries were written."""


class Summariser:
    """Writes summaries for a hierarchy's nodes; only drafts are stored at this point."""

    def __init__(self, database: Database, maker: UnitMaker, tasks: LanguageTasks) -> None:
        self._database = database
        self._maker = maker
        self._tasks = tasks

    def write(
        self,
        stored: Stored,
        members: Sequence[Members],
        due: Sequence[set[int]],
        said: Mapping[NodeKey, Sequence[int]],
        holds: Callable[[Connection], bool],
    ) -> dict[NodeKey, Written]:
        """Write summaries for the due nodes, and for nodes above a summary with changed wording.

        `members` and `due` have one entry per level, from level 1 on; `said` contains the units for chunks and for
        reusable summaries. Raises `Superseded` if `holds` returns False, because a text erased meanwhile must not enter
        a draft.
        """
        written: dict[NodeKey, Written] = {}
        reworded: set[int] = set()
        for level, own in enumerate(members, start=1):
            climbing = {number for number, below in own.items() if not reworded.isdisjoint(below)}
            todo = sorted(due[level - 1] | climbing)
            groups = self._groups(stored, level, [own[number] for number in todo], said, written, holds)
            texts = self._summaries(stored, [[unit for unit, _ in group] for group in groups], holds)
            before = {number: said[level, number] for number in todo if (level, number) in said}
            old = self._wordings(stored.user_id, before)
            weights = [_together([weight for _, weight in group]) for group in groups]
            origins = [_origin(stored, level, number, weight) for number, weight in zip(todo, weights, strict=True)]
            made = self._maker.units("summary", texts, origins)
            new = zip(todo, texts, made, weights, strict=True)
            written |= {(level, number): Written(text, own_units, weight) for number, text, own_units, weight in new}
            reworded = {n for n, text in zip(todo, texts, strict=True) if old.get(n) != text.split()}
        return written

    def _groups(
        self,
        stored: Stored,
        level: int,
        wanted: Sequence[tuple[int, ...]],
        said: Mapping[NodeKey, Sequence[int]],
        written: Mapping[NodeKey, Written],
        holds: Callable[[Connection], bool],
    ) -> list[list[tuple[Unit, Weight]]]:
        """Return, for each node, the texts of its members."""
        below = {number for own in wanted for number in own}
        kept = sorted({s for n in below if (level - 1, n) not in written for s in said[level - 1, n]})
        with self._database.read(stored.user_id) as connection:
            weights = units.weights(connection, kept)
            if level == 1:
                loaded = units.load(connection, stored.user_id, kept)
            else:
                texts = units.texts(connection, kept)
                loaded = {seq: _unit(stored, texts[seq], weights[seq]) for seq in kept if seq in texts}
            if not len(loaded) == len(weights) == len(kept):
                if holds(connection):
                    raise StoreFormatError(f"units of hierarchy {stored.id} are missing; run `nscma doctor`")
                raise Superseded
        found: dict[int, list[tuple[Unit, Weight]]] = {}
        for number in below:
            item = written.get((level - 1, number))
            if item is None:
                found[number] = [(loaded[seq], weights[seq]) for seq in said[level - 1, number]]
            else:
                found[number] = [(_unit(stored, item.text, item.weight), item.weight)]
        return [[pair for number in own for pair in found[number]] for own in wanted]

    def _summaries(
        self, stored: Stored, groups: Sequence[list[Unit]], holds: Callable[[Connection], bool]
    ) -> list[str]:
        """Return a summary for each group: a draft from an interrupted integration, or a new one."""
        keys = [
            derive_id("summary", *(part for u in group for part in (u.text, u.name, u.occurred_at))) for group in groups
        ]
        with self._database.read(stored.user_id) as connection:
            texts = hierarchies.found_drafts(connection, stored.id, keys)
        missing = {key: group for key, group in zip(keys, groups, strict=True) if key not in texts}
        if missing:
            new = self._tasks.summarize(list(missing.values()))
            if len(new) != len(missing) or not all(text.strip() for text in new):
                raise JobError(
                    f"summarize was given {len(missing)} groups and returned {len(new)} texts, "
                    f"{sum(not text.strip() for text in new)} of them empty; the hierarchy is unchanged"
                )
            fresh = dict(zip(missing, new, strict=True))
            with self._database.write(stored.user_id) as connection:
                if not holds(connection):
                    raise Superseded
                hierarchies.draft(connection, stored, fresh)
            texts |= fresh
        return [texts[key] for key in keys]

    def _wordings(self, user_id: str, seqs: Mapping[int, Sequence[int]]) -> dict[int, list[str]]:
        """Return the wording of each node's current summary."""
        with self._database.read(user_id) as connection:
            texts = units.texts(connection, [seq for own in seqs.values() for seq in own])
        if any(seq not in texts for own in seqs.values() for seq in own):  # one was retired meanwhile
            raise Superseded
        return {number: " ".join(texts[seq] for seq in own).split() for number, own in seqs.items()}


def _together(parts: Sequence[Weight]) -> Weight:
    """Return a summary's time and importance: the latest time and the largest importance among its parts."""
    return Weight(max(part.occurred_at for part in parts), max(part.importance for part in parts))


def _origin(stored: Stored, level: int, number: int, weight: Weight) -> dict[str, Any]:
    """Build the origin for a summary's units, used instead of an episode's row."""
    key, scope = units.node_key(stored.id, level, number), Scope(stored.user_id, stored.agent_id)
    alone = units.origin_alone(key, scope, weight.occurred_at)
    of_node = {"stream_id": stored.id, "position": level, "session": f"{level}.{number}"}
    return {**alone, **of_node, "importance": weight.importance}


def _unit(stored: Stored, text: str, weight: Weight) -> Unit:
    """Build a unit for a summary as a member of the next level, without provenance."""
    scope = Scope(stored.user_id, stored.agent_id)
    return Unit("", scope, "summary", text, (), from_micros(weight.occurred_at), role="memory")
