"""The view of an index that a search reads: columns, masks, and values computed from them.

Legend: n is the number of rows, d the embedding dimension; a row is a position in these tensors, a seq the unit's
number in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from nscma_torch.episodic.index.index_rows import IndexRows

T = TypeVar("T")
CODED = ("kind", "agent_id", "run_id", "name", "role")  # columns whose values are numbered


class IndexView:
    """The rows of an index, as a search sees them."""

    device: torch.device
    timed: bool
    _rows: IndexRows
    _codebook: dict[str, dict[str | None, int]]
    _computed: dict[str, tuple[Any, Any]]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def seqs(self) -> Tensor:
        """Row numbers of the units in the store, [n] int64 ascending."""
        return self._rows["seqs"]

    @property
    def alive(self) -> Tensor:
        """Mask [n] bool, False for tombstones."""
        return self._rows["alive"]

    @property
    def vectors(self) -> Tensor:
        """Vectors [n, d] in `dtype`, with unit length; zero where `embedded` is False."""
        return self._rows["vectors"]

    @property
    def contextual(self) -> Tensor:
        """Contextual vectors [n, d] in `dtype`, with unit length: each vector blended with its neighbours' (see
        `user_index`).
        """
        return self._rows["contextual"]

    @property
    def embedded(self) -> Tensor:
        """Mask [n] bool, True for rows that have a vector and aren't tombstones."""
        return self._rows["embedded"]

    @property
    def occurred_at(self) -> Tensor:
        """Times [n] int64 at which units were said, in microseconds."""
        return self._rows["occurred_at"]

    @property
    def expires_at(self) -> Tensor:
        """Expiration times [n] int64, in microseconds."""
        return self._rows["expires_at"]

    @property
    def importance(self) -> Tensor:
        """Importance [n] float32."""
        return self._rows["importance"]

    @property
    def lengths(self) -> Tensor:
        """Lengths [n] float32, in lexical terms."""
        return self._rows["lengths"]

    @property
    def previous(self) -> Tensor:
        """Position [n] int64 of the preceding row in the same stream, session and kind; -1 if there is none."""
        return self._rows["previous"]

    @property
    def following(self) -> Tensor:
        """Position [n] int64 of the following row, as in `previous`."""
        return self._rows["following"]

    @property
    def stamps(self) -> Tensor:
        """Generation [n] int64 in which the row, or its contextual vector, last changed."""
        return self._rows["stamps"]

    def under(self, mask: Tensor) -> Tensor:
        """Restrict a mask over the whole index to this view's rows."""
        return mask

    def whole(self, rows: Tensor) -> Tensor:
        """Convert this view's rows to rows in the user's whole index."""
        return rows

    def since(self, now: int) -> Tensor:
        """Return the times [n] int64 from which recency is measured, in microseconds (`score.recency_since`).

        This is the time a unit was said or, if recalls count, its last recall up to `now`, if that is later.
        """
        if not self.timed:
            return self.occurred_at
        bound = self.recall_bound(now)
        return self._rows["since"] if bound is None else self._rows["since"].clamp(max=bound)

    def recall_bound(self, now: int) -> int | None:
        """Return `now` if `since` depends on it, else None."""
        if not self.timed or not len(self):
            return None
        newest = self.computed("newest", None, lambda: int(self._rows["since"].max()))
        return now if newest > now else None

    def shares(self, reach: float) -> Tensor:
        """Return min(1, reach / length) [n], the weight that a unit and its neighbours have in each other's vectors."""
        return reach / self.lengths.clamp(min=reach)

    def computed(self, name: str, key: Any, make: Callable[[], T]) -> T:
        """Return the value that `make` computes from the current rows; the value for the last `key` is cached
        by name.
        """
        known = self._computed.get(name)
        if known is None or known[0] != key:
            known = key, make()
            self._computed[name] = known
        value: T = known[1]
        return value

    @property
    def _computed_nbytes(self) -> int:
        """Return the number of bytes in the cached tensors."""
        values = [value for _, value in list(self._computed.values())]
        parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
        return sum(part.nbytes for part in parts if isinstance(part, Tensor))

    def turns(self, hops: int) -> list[Tensor]:
        """Return, for each row, the rows 1, 2, … `hops` turns before it, then those after it. Each tensor is [n + 1]; n
        stands for no row, and is also the value for row n.
        """
        return self.computed("turns", hops, lambda: self._turns(hops))

    def _turns(self, hops: int) -> list[Tensor]:
        found = []
        for link in (self.previous, self.following):
            step = torch.cat([link.where(link >= 0, len(self)), link.new_full((1,), len(self))])
            at = step
            for _ in range(hops):
                found.append(at)
                at = step[at]
        return found

    def where(
        self,
        *,
        kinds: Sequence[str],
        agent_id: str | None,
        run_id: str | None,
        at: int,
        until: int | None = None,
        expired: bool = False,
    ) -> Tensor:
        """Return a mask [n] of units with these kinds and ids, not expired at `at` (microseconds) and said by `until`,
        which defaults to `at`; with `expired`, expired units are included.
        """
        mask = self.alive & (self.occurred_at <= (at if until is None else until))
        if not expired:
            mask &= self.expires_at > at
        if not self._codebook["kind"].keys() <= set(kinds):
            mask &= self._one_of("kind", kinds)
        for column, wanted in (("agent_id", agent_id), ("run_id", run_id)):
            if wanted is not None:
                mask &= self._one_of(column, [wanted])
        return mask

    def _one_of(self, column: str, values: Sequence[str]) -> Tensor:
        """Return a mask [n] of units with one of these values in a coded column."""
        codes, book, mask = self._rows[column], self._codebook[column], torch.zeros_like(self.alive)
        for value in book.keys() & set(values):
            mask |= codes == book[value]
        return mask

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the speakers; documents have none."""
        return self.computed("names", None, lambda: tuple(filter(None, self._spoken(self.alive))))

    def names_in(self, role: str) -> tuple[str, ...]:
        """Return the names of speakers with a role, including "" if some have no name."""
        return self.computed("names_in", role, lambda: self._spoken(self.said_by((), (role,))))

    def _spoken(self, mask: Tensor) -> tuple[str, ...]:
        """Return the speakers' names, including "", for the rows in a mask [n]."""
        codes = set(torch.unique(self._rows["name"][mask]).tolist())
        return tuple(name or "" for name, code in self._codebook["name"].items() if code in codes)

    def said_by(self, names: Sequence[str], roles: Sequence[str] = ()) -> Tensor:
        """Return a mask [n] of units said by speakers with these names or in these roles."""
        return self.alive & (self._one_of("name", names) | self._one_of("role", roles))

    def rows_of(self, seqs: Sequence[int]) -> Tensor:
        """Return the rows [m] of the given units, skipping units that the index doesn't contain."""
        wanted = torch.as_tensor(seqs, dtype=torch.int64, device=self.device)
        if not len(self):
            return wanted[:0]
        rows = torch.searchsorted(self.seqs, wanted).clamp_(max=len(self) - 1)
        return rows[(self.seqs[rows] == wanted) & self.alive[rows]]
