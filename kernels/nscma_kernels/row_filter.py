"""Filter for the rows that a search may return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

LOWEST, HIGHEST = -(2**63), 2**63 - 1  # of int64: bounds that every key keeps, which cost nothing


@dataclass(frozen=True)
class Filter:
    """Filter for rows that a search may return. A row passes if it passes every given part.

    Keys are any integers with bounds, such as times, agents, runs or expiry. Keys that are contiguous along N
    (`torch.stack([...]).T`) are compared fastest.
    """

    mask: Tensor | None = None  # [N] bool
    flags: Tensor | None = None  # [N] int64, a bit for each kind
    any_of: int | None = None  # bits of which a row's flags must have at least one
    keys: Tensor | None = None  # [N, R] int64
    low: Sequence[int] | None = None  # [R], low <= key
    high: Sequence[int] | None = None  # [R], key <= high

    def passing(self, begin: int, end: int) -> Tensor | None:
        """Return a mask [end - begin] bool of the rows that pass, or None if there are no filters."""
        parts = [] if self.mask is None else [self.mask[begin:end]]
        if self.flags is not None and self.any_of is not None:
            parts.append((self.flags[begin:end] & self.any_of) != 0)
        if self.keys is not None:
            keys = self.keys[begin:end]
            parts += [keys[:, r] >= bound for r, bound in enumerate(self.low or ()) if bound != LOWEST]
            parts += [keys[:, r] <= bound for r, bound in enumerate(self.high or ()) if bound != HIGHEST]
        if len(parts) < 2:
            return parts[0] if parts else None
        passing = parts[0] & parts[1]
        for part in parts[2:]:
            passing &= part
        return passing

    def check(self, n: int) -> None:
        """Raise `ValueError` if a part doesn't match `n` rows."""
        for name, part, dtype in (("mask", self.mask, torch.bool), ("flags", self.flags, torch.int64)):
            if part is not None and (part.shape != (n,) or part.dtype != dtype):
                raise ValueError(f"rows.{name} must be [{n}] of {dtype}, got {[*part.shape]} {part.dtype}")
        if (self.flags is None) != (self.any_of is None):
            raise ValueError("rows.flags and rows.any_of go together: pass both or neither")
        if self.any_of is not None and not LOWEST <= self.any_of <= HIGHEST:
            raise ValueError(f"rows.any_of must be 64 bits, got {self.any_of}")
        if self.keys is None:
            if self.low is not None or self.high is not None:
                raise ValueError("rows.low and rows.high bound rows.keys [N, R]: pass keys too")
            return
        if self.keys.ndim != 2 or len(self.keys) != n or self.keys.dtype != torch.int64:
            raise ValueError(f"rows.keys must be [{n}, R] of int64, got {[*self.keys.shape]} {self.keys.dtype}")
        for name, bounds in (("low", self.low), ("high", self.high)):
            if bounds is not None and len(bounds) != self.keys.shape[1]:
                raise ValueError(f"rows.{name} needs a bound for each of {self.keys.shape[1]} keys, got {len(bounds)}")
            if any(not LOWEST <= bound <= HIGHEST for bound in bounds or ()):
                raise ValueError(f"rows.{name} must be of 64-bit integers, got {list(bounds or ())}")
