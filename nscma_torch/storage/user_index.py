"""One user's units as tensors on the device: derived from the store, never the truth.

A read compares two counters with the store's: `generation` tells that rows were added (only those are read), `epoch`
that existing rows changed (everything is read again). So the writes of other processes are seen.

Legend: n units, d embedding dimension; row = position in these tensors, seq = the unit's number in the store.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sqlalchemy import Connection, String, and_, cast, func, select

from nscma_torch.storage.schema import postings, units, vectors
from nscma_torch.storage.streams import version
from nscma_torch.text.mentions import words_of

_COLUMNS = ("kind", "agent_id", "run_id", "name", "role")
_CONTEXT = (0.3, 0.15)  # how much of the vector 1 and 2 turns away a contextual vector takes in
_REACH = 40.0  # lexical terms; longer units lend and borrow less
_NEVER = np.iinfo(np.int64).max
_BLOCK = 4096  # rows at once
_KEPT_TERMS = 4096  # whose postings are kept until something is written


@dataclass(slots=True)
class Posting:
    """Where a term stands: rows [m] int64 ascending, and how often, tf [m] float32."""

    rows: torch.Tensor
    tf: torch.Tensor


class UserIndex:
    """The units of one user.

    Args:
        dtype: of the vectors as they are kept: bfloat16 takes half the memory, and cosines are off by up to 0.004.

    Attributes:
        seqs: [n] int64 ascending.
        vectors: [n, d] of `dtype`, unit length; zero where `embedded` is False.
        contextual: [n, d] of `dtype`, unit length: each vector with a share of its neighbours'; see `_CONTEXT`.
        embedded: [n] bool.
        occurred_at, expires_at: [n] int64 microseconds.
        importance, lengths: [n] float32; lengths in lexical terms.
        previous, following: [n] int64, the row before and after in the same stream, session and kind, by its place
            there, -1 for none.
        codes: [5, n] int32, coded kind, agent, run, name and role; see `where` and `said_by`.
        headings: rows under each heading of a document, by `words_of` it.
    """

    def __init__(self, user_id: str, dimension: int, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self.user_id = user_id
        self.device = device
        self._dimension = dimension
        self._dtype = dtype
        self._generation = self._epoch = -1
        self._clear()

    def _clear(self) -> None:
        d = self.device
        self.seqs = torch.empty(0, dtype=torch.int64, device=d)
        self._vectors = torch.empty(0, self._dimension, device=d, dtype=self._dtype)
        self._contextual = torch.empty(0, self._dimension, device=d, dtype=self._dtype)
        self.embedded = torch.empty(0, dtype=torch.bool, device=d)
        self.occurred_at = torch.empty(0, dtype=torch.int64, device=d)
        self.expires_at = torch.empty(0, dtype=torch.int64, device=d)
        self.importance = torch.empty(0, device=d)
        self.lengths = torch.empty(0, device=d)
        self.previous = torch.empty(0, dtype=torch.int64, device=d)
        self.following = torch.empty(0, dtype=torch.int64, device=d)
        self.codes = torch.empty(len(_COLUMNS), 0, dtype=torch.int32, device=d)
        self._codebook: list[dict[str | None, int]] = [{} for _ in _COLUMNS]
        self._last: dict[tuple[str, str | None, str], tuple[int, tuple[int, int]]] = {}  # row, and its place there
        self._disordered = False
        self.headings: dict[tuple[str, ...], list[int]] = {}
        self._postings: dict[str, Posting | None] = {}
        self._turns: list[torch.Tensor] = []

    def __len__(self) -> int:
        return len(self.seqs)

    @property
    def vectors(self) -> torch.Tensor:
        """[n, d] of `dtype`."""
        return self._vectors[: len(self)]

    @property
    def contextual(self) -> torch.Tensor:
        """[n, d] of `dtype`."""
        return self._contextual[: len(self)]

    def shares(self, reach: float = _REACH) -> torch.Tensor:
        """min(1, reach / length) [n]: what a unit lends to its neighbours and borrows from them."""
        return reach / self.lengths.clamp(min=reach)

    @property
    def version(self) -> tuple[int, int]:
        """(generation, epoch) of the store that this index equals."""
        return self._generation, self._epoch

    def catch_up(self, connection: Connection) -> None:
        """Bring the index to the state that `connection` sees."""
        generation, epoch = version(connection, self.user_id)
        if (generation, epoch) == self.version:
            return
        if epoch != self._epoch or generation < self._generation:
            self._clear()
        self._epoch = -1  # what is interrupted from here on is read again as a whole
        self._postings.clear()
        newest = int(self.seqs[-1]) if len(self) else 0
        query = (
            select(units, vectors.c.vector)
            .outerjoin(vectors, vectors.c.unit_seq == units.c.seq)
            .where(and_(units.c.user_id == self.user_id, units.c.seq > newest, units.c.status == "active"))
            .order_by(units.c.seq)
        )
        for rows in connection.execute(query.execution_options(yield_per=_BLOCK)).mappings().partitions():
            self._append(rows)
        if self._disordered:
            self._relink(connection)
        self._generation, self._epoch = generation, epoch

    def _append(self, rows: Sequence[Any]) -> None:
        n, base = len(rows), len(self)
        block = np.zeros((n, self._dimension), dtype=np.float32)
        embedded = np.zeros(n, dtype=bool)
        links = np.full((n, 2), -1, dtype=np.int64)
        earlier: dict[int, int] = {}
        for i, row in enumerate(rows):
            if row["vector"] is not None:
                block[i] = np.frombuffer(row["vector"], dtype="<f4")
                embedded[i] = True
            place = (row["stream_id"], row["session"], row["kind"])
            at = (row["position"], row["start"])
            before, last = self._last.get(place, (-1, at))
            self._disordered |= at < last
            links[i, 0] = before
            if before >= base:
                links[before - base, 1] = base + i
            elif before >= 0:
                earlier[before] = base + i
            self._last[place] = base + i, at
            if row["role"] == "document" and row["name"]:
                for heading in dict.fromkeys(words_of(part) for part in _headings(row["name"])):
                    self.headings.setdefault(heading, []).append(base + i)
        codes = [
            [book.setdefault(_speaker(row) if column == "name" else row[column], len(book)) for row in rows]
            for book, column in zip(self._codebook, _COLUMNS, strict=True)
        ]
        self._grow(base + n)
        self._vectors[base : base + n] = torch.from_numpy(block).to(self.device, self._dtype)
        self.embedded = self._joined(self.embedded, embedded)
        self.seqs = self._joined(self.seqs, [row["seq"] for row in rows])
        self.occurred_at = self._joined(self.occurred_at, [row["occurred_at"] for row in rows])
        expires = [_NEVER if row["expires_at"] is None else row["expires_at"] for row in rows]
        self.expires_at = self._joined(self.expires_at, expires)
        self.importance = self._joined(self.importance, [row["importance"] for row in rows])
        self.lengths = self._joined(self.lengths, [row["length"] for row in rows])
        self.codes = self._joined(self.codes, codes)
        self.previous = self._joined(self.previous, links[:, 0])
        self.following = self._joined(self.following, links[:, 1])
        if earlier:
            self.following[list(earlier)] = torch.tensor(list(earlier.values()), device=self.device)
        self._blend(torch.arange(base, base + n, device=self.device))

    def _relink(self, connection: Connection) -> None:
        """Chain all rows by their places in the conversation: what is edited or read late comes in at the end."""
        order = (units.c.stream_id, units.c.session, units.c.kind, units.c.position, units.c.start, units.c.seq)
        query = select(*order).where(units.c.user_id == self.user_id, units.c.status == "active").order_by(*order)
        found = connection.execute(query).all()
        rows = self.rows_of([row.seq for row in found]).tolist()
        self.previous.fill_(-1)
        self.following.fill_(-1)
        self._last = {}
        links: list[tuple[int, int]] = []
        for row, own in zip(rows, found, strict=True):
            place = (own.stream_id, own.session, own.kind)
            if place in self._last:
                links.append((self._last[place][0], row))
            self._last[place] = row, (own.position, own.start)
        before, after = torch.tensor(links, dtype=torch.int64, device=self.device).reshape(-1, 2).T
        self.following[before], self.previous[after] = after, before
        for start in range(0, len(self), _BLOCK):
            self._blend(torch.arange(start, min(start + _BLOCK, len(self)), device=self.device))
        self._turns, self._disordered = [], False

    def _blend(self, new: torch.Tensor) -> None:
        """Contextual vectors of new rows [m], and of the earlier ones that they stand beside."""
        touched, before = [new], new
        for _ in _CONTEXT:
            before = self.previous[before]
            before = before[before >= 0]
            touched.append(before)
        rows = torch.unique(torch.cat(touched))
        share = self.shares()
        blended = self._vectors[rows].float()
        for link in (self.previous, self.following):
            beside = rows
            for weight in _CONTEXT:
                beside = torch.where(beside >= 0, link[beside.clamp(min=0)], beside)
                lent = weight * share[rows] * share[beside] * (beside >= 0)
                blended += lent[:, None] * self._vectors[beside.clamp(min=0)]
        mixed = torch.nn.functional.normalize(blended, dim=1) * self.embedded[rows, None]
        self._contextual[rows] = mixed.to(self._dtype)

    def _grow(self, n: int) -> None:
        if n > len(self._vectors):
            size = max(n, 2 * len(self._vectors))
            for name, old in (("_vectors", self.vectors), ("_contextual", self.contextual)):
                room = torch.zeros(size, self._dimension, device=self.device, dtype=self._dtype)
                room[: len(old)] = old
                setattr(self, name, room)

    def _joined(self, old: torch.Tensor, new: Any) -> torch.Tensor:
        return torch.cat([old, torch.as_tensor(new, dtype=old.dtype, device=self.device)], dim=-1)

    def turns(self, hops: int) -> list[torch.Tensor]:
        """Rows 1, 2, … `hops` turns before, then after, each row; n for none, and for row n itself. Each [n + 1]."""
        if len(self._turns) != 2 * hops or (hops and len(self._turns[0]) != len(self) + 1):
            self._turns = []
            for link in (self.previous, self.following):
                step = torch.cat([link.where(link >= 0, len(self)), link.new_full((1,), len(self))])
                at = step
                for _ in range(hops):
                    self._turns.append(at)
                    at = step[at]
        return self._turns

    def where(
        self,
        *,
        kinds: Sequence[str],
        agent_id: str | None,
        run_id: str | None,
        at: int,
        until: int | None = None,
    ) -> torch.Tensor:
        """Mask [n] of the units of these kinds and ids that are not expired at `at` (microseconds) and were said by
        `until`, by default `at`.
        """
        mask = (self.occurred_at <= (at if until is None else until)) & (self.expires_at > at)
        if not self._codebook[0].keys() <= set(kinds):
            mask &= self._one_of(0, kinds)
        for column, wanted in ((1, agent_id), (2, run_id)):
            if wanted is not None:
                mask &= self._one_of(column, [wanted])
        return mask

    def _one_of(self, column: int, values: Sequence[str]) -> torch.Tensor:
        """Mask [n] of the units that hold one of these values in the column of `codes`."""
        codes, mask = self.codes[column], torch.zeros_like(self.embedded)
        for value in self._codebook[column].keys() & set(values):
            mask |= codes == self._codebook[column][value]
        return mask

    @property
    def names(self) -> tuple[str, ...]:
        """Names of those who spoke; documents have none."""
        return tuple(name for name in self._codebook[3] if name)

    def said_by(self, names: Sequence[str], roles: Sequence[str] = ()) -> torch.Tensor:
        """Mask [n] of what people of these names, or in these roles, said."""
        return self._one_of(3, names) | self._one_of(4, roles)

    def rows_of(self, seqs: Sequence[int]) -> torch.Tensor:
        """Rows [m] of those of these units that the index holds."""
        wanted = torch.as_tensor(seqs, dtype=torch.int64, device=self.device)
        if not len(self):
            return wanted[:0]
        rows = torch.searchsorted(self.seqs, wanted).clamp_(max=len(self) - 1)
        return rows[self.seqs[rows] == wanted]

    def postings(self, connection: Connection, terms: Sequence[str]) -> dict[str, Posting]:
        """Postings of these terms among this user's units, read in the same transaction as `catch_up`."""
        wanted = dict.fromkeys(terms) if len(self) else {}
        new = [term for term in wanted if term not in self._postings]
        if new:
            if len(self._postings) > _KEPT_TERMS:
                self._postings.clear()
                new = list(wanted)
            self._postings |= dict.fromkeys(new) | self._read(connection, new)
        found = {term: self._postings[term] for term in wanted}
        return {term: posting for term, posting in found.items() if posting is not None}

    def _read(self, connection: Connection, terms: Sequence[str]) -> dict[str, Posting]:
        # a list in a text for each term: a row for each posting takes four times as long
        seqs, counts = (
            func.aggregate_strings(cast(part, String), ",") for part in (postings.c.unit_seq, postings.c.tf)
        )
        query = (
            select(postings.c.term, seqs, counts)
            .where(postings.c.user_id == self.user_id, postings.c.term.in_(list(terms)))
            .group_by(postings.c.term)
        )
        found = {}
        for term, *lists in connection.execute(query):
            numbers = torch.from_numpy(np.stack([np.fromstring(text, np.int64, sep=",") for text in lists]))
            wanted, tf = numbers[:, numbers[0].argsort()].to(self.device)
            rows = torch.searchsorted(self.seqs, wanted).clamp_(max=len(self) - 1)
            held = self.seqs[rows] == wanted  # units no longer active keep their postings until they are erased
            found[term] = Posting(rows[held], tf[held].float())
        return found


def _headings(name: str) -> list[str]:
    """The headings that a document's section stands under, without what a title adds in brackets."""
    return [re.sub(r"\s*\([^()]*\)\s*$", "", part) for part in name.split(" > ")]


def _speaker(row: Any) -> str | None:
    """Who said a unit: the name of a document's section is its headings, and those are words to be found by."""
    return None if row["role"] == "document" else row["name"]
