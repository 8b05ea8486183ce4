"""Postings for terms in one user's units: read from the store on demand, and cached.

A cached term covers all rows up to a certain row; only the postings for later rows are read.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sqlalchemy import Connection, String, cast, func, select
from torch import Tensor

from nscma_torch.episodic.index.unit_schema import postings

_KEPT = 4096  # terms
_SMALL = 4096  # units; among so few a statement costs more than the postings that it reads again


@dataclass(slots=True)
class Posting:
    """The occurrences of a term: `rows` [m] int64 ascending, and their counts, `tf` [m] float32."""

    rows: Tensor
    tf: Tensor


@dataclass(frozen=True, slots=True)
class _Kept:
    """The occurrences of a term in the rows before `end`, including tombstones."""

    rows: Tensor  # [m] int64 ascending
    tf: Tensor  # [m] float32
    end: int

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.tf.nbytes

    def within(self, alive: Tensor) -> Posting | None:
        """Return the posting restricted to live rows, given `alive` [n]; None if the term occurs in none of them."""
        rows, tf = self.rows, self.tf
        if self.end > len(alive):
            m = int(torch.searchsorted(rows, len(alive)))
            rows, tf = rows[:m], tf[:m]
        held = alive[rows]
        if not bool(held.all()):
            rows, tf = rows[held], tf[held]
        return Posting(rows, tf) if len(rows) else None


class Postings:
    """One user's postings, valid while rows keep their positions. Threads can query several states at once.

    Attributes:
        nbytes: number of bytes in the cached tensors.
        postings_read: total number of postings read from the store.
    """

    def __init__(self, user_id: str) -> None:
        self._user_id = user_id
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()  # of what is kept and its sum; never held while anything is read
        self.nbytes = self.postings_read = 0

    def of(
        self,
        connection: Connection,
        terms: Sequence[str],
        seqs: Tensor,  # [n] int64 ascending, units by row
        alive: Tensor,  # [n] bool, rows that count
    ) -> dict[str, Posting]:
        """Return the postings for the given terms that occur at all."""
        known = {term: self._kept.get(term) for term in terms}
        ends = {term: 0 if kept is None else kept.end for term, kept in known.items()}
        new = [term for term, end in ends.items() if not end]
        behind = [term for term, end in ends.items() if 0 < end < len(seqs)]
        apart = (new, behind) if len(seqs) > _SMALL else (new + behind,)
        for some in filter(None, apart):
            read = self._read(connection, some, seqs, min(ends[term] for term in some))
            joined = {term: _joined(known[term], read.get(term), seqs) for term in some}
            self._keep(joined)
            known |= joined
        found = {term: kept.within(alive) for term, kept in known.items() if kept is not None}
        return {term: posting for term, posting in found.items() if posting is not None}

    def _keep(self, new: Mapping[str, _Kept]) -> None:
        with self._lock:
            if len(self._kept) > _KEPT:
                self._kept, self.nbytes = {}, 0
            for term, kept in new.items():
                known = self._kept.get(term)
                if known is None or known.end < kept.end:  # another thread may have read further
                    self._kept[term] = kept
                    self.nbytes += kept.nbytes - (0 if known is None else known.nbytes)

    def _read(
        self, connection: Connection, terms: Sequence[str], seqs: Tensor, first: int
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Return the rows from `first` on, and the counts, for each term that occurs."""
        # a list in a text for each term: a row for each posting takes four times as long
        lists = (func.aggregate_strings(cast(part, String), ",") for part in (postings.c.unit_seq, postings.c.tf))
        query = (
            select(postings.c.term, *lists)
            .where(postings.c.user_id == self._user_id, postings.c.term.in_(list(terms)))
            .group_by(postings.c.term)
        )
        if first:
            query = query.where(postings.c.unit_seq > int(seqs[first - 1]))
        found = {}
        for term, *texts in connection.execute(query):
            numbers = torch.from_numpy(np.stack([np.fromstring(text, np.int64, sep=",") for text in texts]))
            self.postings_read += numbers.shape[1]
            wanted, tf = numbers[:, numbers[0].argsort()].to(seqs.device)
            rows = torch.searchsorted(seqs, wanted).clamp_(max=len(seqs) - 1)
            held = seqs[rows] == wanted  # units no longer active keep their postings until they are erased
            found[term] = rows[held], tf[held].float()
        return found


def _joined(kept: _Kept | None, new: tuple[Tensor, Tensor] | None, seqs: Tensor) -> _Kept:
    """Merge a term's stored postings with those for the rows after them."""
    nothing = seqs[:0], seqs[:0].float()
    rows, tf = nothing if new is None else new
    if kept is not None:
        later = int(torch.searchsorted(rows, kept.end))  # cached postings may have been read for other terms
        rows, tf = rows[later:], tf[later:]
        rows, tf = torch.cat([kept.rows, rows]), torch.cat([kept.tf, tf])
    return _Kept(rows, tf, len(seqs))
