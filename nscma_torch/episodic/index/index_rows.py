"""Parallel tensor columns that grow at the end and support snapshots.

A snapshot shares the tensors. Rows appended later lie beyond its end; to change earlier cells, use `writable`, which
copies the column if a live snapshot refers to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class IndexRows:
    """A table of n rows with named columns.

    Args:
        columns: an empty tensor [0, …] for each column, which sets its width, dtype and device.
    """

    def __init__(self, columns: Mapping[str, Tensor]) -> None:
        self._columns = dict(columns)  # each [room, …]
        self._count = 0
        self._snapshots: list[weakref.ref[IndexRows]] = []
        self._owned = set(columns)  # columns that no snapshot shares

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Return the number of bytes in the tensors, including unused capacity."""
        return sum(column.nbytes for column in self._columns.values())

    def __getitem__(self, name: str) -> Tensor:
        """Return the column [n, …], read-only."""
        return self._columns[name][: self._count]

    def writable(self, name: str) -> Tensor:
        """Return the column [n, …] for changing cells; snapshots don't see the changes."""
        if name not in self._owned:
            if any(snapshot() is not None for snapshot in self._snapshots):
                self._columns[name] = self._columns[name].clone()
            self._owned.add(name)
        return self[name]

    def append(self, new: Mapping[str, Any]) -> None:
        """Add rows: values [m, …] for each column, as a tensor or convertible to one."""
        if set(new) != set(self._columns):
            raise ValueError(f"values are needed for every column, got {sorted(new)}")
        parts = {
            name: torch.as_tensor(values, dtype=self._columns[name].dtype, device=self._columns[name].device)
            for name, values in new.items()
        }
        (added,) = {len(part) for part in parts.values()}
        first = len(self)
        for name, part in parts.items():
            column = self._columns[name]
            if first + added > len(column):
                self._columns[name] = column.new_zeros(max(first + added, 2 * len(column)), *column.shape[1:])
                self._columns[name][:first] = column[:first]
                self._owned.add(name)
            self._columns[name][first : first + added] = part
        self._count = first + added

    def drop(self, names: Sequence[str]) -> None:
        """Remove columns; snapshots keep theirs."""
        self._columns = {name: column for name, column in self._columns.items() if name not in names}

    def arrange(self, order: Tensor) -> None:
        """Keep only the rows in `order` [m], in this order."""
        self._columns = {name: self[name][order] for name in self._columns}
        self._count = len(order)
        self._owned = set(self._columns)

    def snapshot(self) -> IndexRows:
        """Return a snapshot of the current rows, which later changes don't affect."""
        taken = IndexRows(self._columns)
        taken._count = self._count
        self._snapshots = [own for own in self._snapshots if own() is not None]
        self._snapshots.append(weakref.ref(taken))
        self._owned.clear()
        return taken
