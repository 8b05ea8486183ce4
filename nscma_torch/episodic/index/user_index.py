"""One user's units as tensors on the device, derived from the store.

A read compares the user's generation with the store's. If it changed, added units are appended, and units in the change
log are removed or read again, so writes by other processes are seen and the cost of a read is proportional to the
changes. A removed unit's row stays as a tombstone, invisible to search, until there are many tombstones.

If a user has many units, their vectors stay in PostgreSQL, where `stored_vectors` searches them; all other columns are
kept here.

Legend: n is the number of rows, d the embedding dimension; a row is a position in these tensors, a seq the unit's
number in the store.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sqlalchemy import Connection, Select, func, select
from torch import Tensor

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.dialects import in_postgres
from nscma_torch.core.database.user_versions import version
from nscma_torch.episodic.index import unit_changes
from nscma_torch.episodic.index.contextual import REACH, WEIGHTS, contextual
from nscma_torch.episodic.index.index_postings import Posting, Postings
from nscma_torch.episodic.index.index_rows import IndexRows
from nscma_torch.episodic.index.index_view import CODED, IndexView
from nscma_torch.episodic.index.unit_schema import units, vectors
from nscma_torch.episodic.log import history
from nscma_torch.text.known_names import words_of

_NEVER = np.iinfo(np.int64).max
_BLOCK = 4096  # rows at once
_MOST_GONE = 0.25  # share of the rows; with more tombstones the tensors are rebuilt without them
_FEW = 256  # tombstones that are never too many

_Place = tuple[int, int]  # position in the stream, and first character in the message


class UserIndex(IndexView):
    """One user's units. `catch_up` changes the index; a `snapshot` stays unchanged and can be read meanwhile.

    Args:
        dtype: data type for vectors in memory: bfloat16 takes half the space, but cosines are off by up to 0.004.
        database_from: number of active units from which on vectors stay in PostgreSQL; 0 means never.

    Attributes:
        apart: True if the vectors are only in the database, without columns here.
        timed: True if `since` depends on recalls, which don't change the generation.
        generation: the store's generation that this index reflects; -1 if nothing was read yet.
        layout: changes whenever rows move.
        rows_read: total number of unit rows read from the store.
        headings: rows under each document heading, by the heading's `words_of`.
    """

    def __init__(
        self,
        user_id: str,
        dimension: int,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        *,
        timed: bool = False,
        database_from: int = 0,
    ) -> None:
        self.user_id = user_id
        self.device = device
        self.generation = -1
        self.layout = self.rows_read = 0
        self._dimension = dimension
        self._dtype = dtype
        self.timed = timed
        self.apart = False
        self._database_from = database_from
        self._heard = 0  # last entry of the log of recalls that `since` has
        self._clear()

    def _clear(self) -> None:
        whole, number = torch.empty(0, dtype=torch.int64, device=self.device), torch.empty(0, device=self.device)
        code, flag = whole.to(torch.int32), whole.to(torch.bool)
        vector = torch.empty(0, self._dimension, dtype=self._dtype, device=self.device)
        self._rows = IndexRows(
            {"embedded": flag, "alive": flag}
            | ({} if self.apart else dict.fromkeys(_VECTORS, vector))
            | dict.fromkeys(("importance", "lengths"), number)
            | dict.fromkeys(("seqs", "occurred_at", "expires_at", "previous", "following", "stamps"), whole)
            | dict.fromkeys(("chain", "position", "start", *(("since",) if self.timed else ())), whole)
            | dict.fromkeys(CODED, code)
        )
        self.layout += 1
        self._gone = 0
        self._codebook = {column: {} for column in CODED}
        self._chains: dict[tuple[str, str | None, str], int] = {}  # stream, session and kind, numbered
        self._last: dict[int, tuple[int, _Place]] = {}  # of each chain, the last row and its place
        self._torn: set[int] = set()  # chains that must be linked again
        self._dirty: list[Tensor] = []  # rows with changed neighbours
        self.headings: Mapping[tuple[str, ...], Sequence[int]] = {}
        self._postings = Postings(self.user_id)
        self._computed = {}

    @property
    def nbytes(self) -> int:
        """Return the number of bytes in the tensors: columns, cached postings, and the last computed values."""
        return self._rows.nbytes + self._postings.nbytes + self._computed_nbytes

    @property
    def dimension(self) -> int:
        """Return the vectors' dimension."""
        return self._dimension

    def column(self, name: str) -> Tensor:
        """Return a column [n, …] by name."""
        return self._rows[name]

    def snapshot(self) -> UserIndex:
        """Return a snapshot of the index, which shares the tensors and stays unchanged; release it soon."""
        taken = copy.copy(self)
        taken._rows = self._rows.snapshot()
        return taken

    def catch_up(self, connection: Connection) -> None:
        """Update the index to the state that `connection` sees."""
        generation, _ = version(connection, self.user_id)
        if generation != self.generation:
            self._follow(connection, generation)
        if self.timed:
            self._hear(connection)

    def _hear(self, connection: Connection) -> None:
        """Apply the recalls recorded since the last call, which don't change the generation."""
        found, self._heard = history.unit_recalls_after(connection, self.user_id, self._heard)
        held = self.rows_of(sorted(found))
        if len(held):
            at = torch.tensor([found[seq] for seq in self.seqs[held].tolist()], device=self.device)
            since = self._rows.writable("since")
            since[held] = torch.maximum(since[held], at)
            self._computed = {}

    def _follow(self, connection: Connection, generation: int) -> None:
        """Read the units added, changed or removed up to a generation."""
        known, self.generation = self.generation, -1  # an interruption from here on causes a full reload
        changed = unit_changes.since(connection, self.user_id, known) if 0 <= known < generation else None
        if changed is None:
            self.apart = self._too_many(connection, self._count(connection))
            self._clear()
        self._computed = {}
        newest = int(self.seqs[-1]) if len(self) else 0
        earlier = [seq for seq in changed or () if seq <= newest]
        self._bury(self.rows_of(earlier), generation)
        before = len(self)
        for some in pages(earlier):
            self._read(connection, self._units().where(units.c.seq.in_(some)), generation)
        returned = len(self) > before
        self._read(connection, self._units().where(units.c.seq > newest), generation)
        if returned:
            living = torch.nonzero(self.alive)[:, 0]
            self._arrange(living[self.seqs[living].argsort()])
        elif self._gone > max(_FEW, _MOST_GONE * len(self)):
            self._arrange(torch.nonzero(self.alive)[:, 0])
        self._relink()
        apart = self._too_many(connection, len(self) - self._gone)
        if self.apart and not apart:  # the vectors are needed again
            self._follow(connection, generation)
            return
        if apart and not self.apart:
            self.apart = True
            self._rows.drop(_VECTORS)
        self._blend(generation)
        self.generation = generation

    def _too_many(self, connection: Connection, units: int) -> bool:
        """Return True if there are enough active units to leave their vectors in the database."""
        return 0 < self._database_from <= units and in_postgres(connection)

    def _count(self, connection: Connection) -> int:
        """Count the user's active units, stopping at the limit."""
        own = select(units.c.seq).where(units.c.user_id == self.user_id, units.c.status == "active")
        counted = select(func.count()).select_from(own.limit(self._database_from).subquery())
        return int(connection.execute(counted).scalar_one()) if self._database_from else 0

    def _bury(self, rows: Tensor, generation: int) -> None:
        """Turn rows [m] into tombstones."""
        if not len(rows):
            return
        for name in ("alive", "embedded"):
            self._rows.writable(name)[rows] = False
        for name in ("previous", "following"):
            links = self._rows.writable(name)
            self._dirty.append(links[rows][links[rows] >= 0])
            links[rows] = -1
        self._rows.writable("stamps")[rows] = generation
        self._torn |= set(self._rows["chain"][rows].tolist())
        self._gone += len(rows)
        if self.headings and bool(self._one_of("role", ["document"])[rows].any()):
            gone = set(rows.tolist())
            kept = {name: [row for row in own if row not in gone] for name, own in self.headings.items()}
            self.headings = {name: own for name, own in kept.items() if own}

    def _units(self) -> Select[Any]:
        """Select the user's active units with their vectors, and with their last recalls if these count.

        If vectors stay in the database, a number in place of the vector marks that there is one.
        """
        vector = (vectors.c.unit_seq if self.apart else vectors.c.vector).label("vector")
        more = [history.last_recall_of_unit().label("recalled_at")] if self.timed else []
        read = [units.c[name] for name in _READ]
        joined = select(*read, vector, *more).outerjoin(vectors, vectors.c.unit_seq == units.c.seq)
        return joined.where(units.c.user_id == self.user_id, units.c.status == "active")

    def _read(self, connection: Connection, query: Select[Any], generation: int) -> None:
        """Append the active units selected by a query."""
        with connection.execute(query.order_by(units.c.seq).execution_options(yield_per=_BLOCK)) as found:
            names = tuple(found.keys())
            for rows in found.partitions():
                self._append(dict(zip(names, zip(*rows, strict=True), strict=True)), generation)

    def _append(self, read: Mapping[str, Sequence[Any]], generation: int) -> None:
        """Append units, given the columns read for each."""
        n, base = len(read["seq"]), len(self)
        links = np.full((n, 2), -1, dtype=np.int64)
        chains = np.zeros(n, dtype=np.int64)
        after: dict[int, int] = {}
        headed: dict[tuple[str, ...], list[int]] = {}
        groups = zip(read["stream_id"], read["session"], read["kind"], strict=True)
        places = zip(read["position"], read["start"], strict=True)
        for i, (group, place) in enumerate(zip(groups, places, strict=True)):
            chain = self._chains.setdefault(group, len(self._chains))
            before, last = self._last.get(chain, (-1, place))
            if place < last:  # units edited or read late are appended at the end
                self._torn.add(chain)
            chains[i], links[i, 0] = chain, before
            if before >= base:
                links[before - base, 1] = base + i
            elif before >= 0:
                after[before] = base + i
            self._last[chain] = base + i, place
        named = list(zip(read["role"], read["name"], strict=True))
        for i, (role, name) in enumerate(named if "document" in read["role"] else ()):
            if role == "document" and name:
                for heading in dict.fromkeys(words_of(part) for part in _headings(name)):
                    headed.setdefault(heading, []).append(base + i)
        # a document section's headings are no name of a speaker
        spoken = {**read, "name": [None if role == "document" else name for role, name in named]}
        self._rows.append(
            {
                **{name: read[key] for name, key in _TAKEN_OVER.items()},
                **{name: self._coded(name, spoken[name]) for name in CODED},
                **({} if self.apart else self._unpacked(read["vector"])),
                "embedded": [vector is not None for vector in read["vector"]],
                "alive": np.ones(n, dtype=bool),
                "expires_at": [_NEVER if at is None else at for at in read["expires_at"]],
                "chain": chains,
                "previous": links[:, 0],
                "following": links[:, 1],
                "stamps": np.full(n, generation),
            }
            | ({"since": list(map(_later, read["occurred_at"], read["recalled_at"]))} if self.timed else {})
        )
        if after:
            following = self._rows.writable("following")
            following[list(after)] = torch.tensor(list(after.values()), device=self.device)
        if headed:
            own = {heading: [*self.headings.get(heading, ()), *new] for heading, new in headed.items()}
            self.headings = {**self.headings, **own}
        self._dirty.append(torch.arange(base, base + n, device=self.device))
        self.rows_read += n

    def _unpacked(self, packed: Sequence[bytes | None]) -> dict[str, Tensor]:
        """Return the vector columns for units with these packed vectors; contextual vectors are computed later."""
        block = np.zeros((len(packed), self._dimension), dtype=np.float32)
        for i, vector in enumerate(packed):
            if vector is not None:
                block[i] = np.frombuffer(vector, dtype="<f4")
        return {"vectors": torch.from_numpy(block), "contextual": torch.zeros(block.shape)}

    def _coded(self, column: str, values: Iterable[str | None]) -> list[int]:
        """Return the code for each value, assigning codes to new values."""
        listed, book = list(values), self._codebook[column]
        new = [value for value in dict.fromkeys(listed) if value not in book]
        if new:  # a snapshot keeps the book as it was
            book = book | {value: len(book) + i for i, value in enumerate(new)}
            self._codebook = {**self._codebook, column: book}
        return [book[value] for value in listed]

    def _arrange(self, order: Tensor) -> None:
        """Keep only the rows in `order` [m], in this order."""
        places = torch.full((len(self) + 1,), -1, dtype=torch.int64, device=self.device)
        places[order] = torch.arange(len(order), device=self.device)  # the last stands for -1
        self._rows.arrange(order)
        self._postings = Postings(self.user_id)
        for name in ("previous", "following"):
            links = self._rows.writable(name)
            links[:] = places[links]
        moved = places.tolist()
        self._last = {chain: (moved[row], place) for chain, (row, place) in self._last.items() if moved[row] >= 0}
        self.headings = {name: sorted(moved[row] for row in own) for name, own in self.headings.items()}
        self._dirty = [places[rows][places[rows] >= 0] for rows in self._dirty]
        self._gone = 0
        self.layout += 1

    def _relink(self) -> None:
        """Rebuild broken chains of rows from their positions in the conversation."""
        if not self._torn:
            return
        chain = self._rows["chain"]
        torn = torch.tensor(sorted(self._torn), device=self.device)
        rows = torch.nonzero(self.alive & torch.isin(chain, torn))[:, 0]
        for name in ("start", "position", "chain"):
            rows = rows[self._rows[name][rows].argsort(stable=True)]
        beside = chain[rows][1:] == chain[rows][:-1]
        for name, one, other in (("previous", rows[1:], rows[:-1]), ("following", rows[:-1], rows[1:])):
            links = self._rows.writable(name)
            found = torch.full_like(links, -1)
            found[one[beside]] = other[beside]
            self._dirty.append(rows[found[rows] != links[rows]])
            links[rows] = found[rows]
        ends = rows[torch.cat([~beside, beside.new_ones(min(1, len(rows)))])]
        places = zip(self._rows["position"][ends].tolist(), self._rows["start"][ends].tolist(), strict=True)
        self._last = {known: last for known, last in self._last.items() if known not in self._torn}
        self._last |= dict(zip(chain[ends].tolist(), zip(ends.tolist(), places, strict=True), strict=True))
        self._torn = set()

    def _blend(self, generation: int) -> None:
        """Recompute contextual vectors for the rows with changed neighbours, and for their neighbours."""
        if not self._dirty:
            return
        if self.apart:
            self._dirty = []
            return
        touched = torch.zeros(len(self) + 1, dtype=torch.bool, device=self.device)  # the last stands for no row
        touched[torch.cat(self._dirty)] = True
        for _ in WEIGHTS:
            rows = torch.nonzero(touched[:-1])[:, 0]
            for link in (self.previous, self.following):
                touched[link[rows]] = True
        every = torch.nonzero(touched[:-1])[:, 0]
        mixed, stamps = self._rows.writable("contextual"), self._rows.writable("stamps")
        share, links = self.shares(REACH), (self.previous, self.following)
        for rows in torch.split(every, _BLOCK):
            mixed[rows] = contextual(rows, self.vectors, self.embedded, links, share).to(self._dtype)
            stamps[rows] = generation
        self._dirty = []

    def postings(self, connection: Connection, terms: Sequence[str]) -> dict[str, Posting]:
        """Return the postings for these terms in this user's units; `connection` must see the state of the last
        `catch_up`.
        """
        return self._postings.of(connection, terms, self.seqs, self.alive) if len(self) else {}


_VECTORS = ("vectors", "contextual")
_READ = (
    "seq",
    "occurred_at",
    "expires_at",
    "importance",
    "length",
    "position",
    "start",
    "stream_id",
    "session",
    *CODED,
)
_TAKEN_OVER = {
    "seqs": "seq",
    "occurred_at": "occurred_at",
    "importance": "importance",
    "lengths": "length",
    "position": "position",
    "start": "start",
}


def _headings(name: str) -> list[str]:
    """Return the headings above a document's section, with the title's parenthesised suffix removed."""
    return [_without_brackets(part) for part in name.split(" > ")]


def _without_brackets(title: str) -> str:
    """Strip the parentheses at a title's end.

    >>> _without_brackets("Mercury (planet)")
    'Mercury'
    """
    plain = title.rstrip()
    before, opened, inside = plain.removesuffix(")").rpartition("(")
    return before.rstrip() if opened and plain.endswith(")") and ")" not in inside else title


def _later(said: int, recalled: int | None) -> int:
    return said if recalled is None else max(said, recalled)
