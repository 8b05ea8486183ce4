"""What a `UserIndex` holds, without its tombstones, so that two can be compared."""

from __future__ import annotations

from typing import Any

import torch

from nscma_torch.episodic.index.user_index import UserIndex

TENSORS = ("seqs", "vectors", "contextual", "embedded", "occurred_at", "expires_at", "importance", "lengths")
CODED = ("kind", "agent_id", "run_id", "name", "role")


def living(index: UserIndex) -> dict[str, Any]:
    """Columns of the rows that are no tombstones; neighbours and headings by the units' numbers in the store."""
    rows = torch.nonzero(index.alive)[:, 0]
    seqs = torch.cat([index.seqs, torch.tensor([-1])])
    found: dict[str, Any] = {name: getattr(index, name)[rows] for name in TENSORS}
    found |= {name: seqs[getattr(index, name)[rows]] for name in ("previous", "following")}
    for column in CODED:
        values = {code: value for value, code in index._codebook[column].items()}
        found[column] = [values[code] for code in index._rows[column][rows].tolist()]
    found["names"] = sorted(index.names)
    found["headings"] = {name: [int(index.seqs[row]) for row in own] for name, own in index.headings.items()}
    return found


def assert_same(one: UserIndex, other: UserIndex) -> None:
    first, second = living(one), living(other)
    for name, value in first.items():
        same = torch.equal(value, second[name]) if isinstance(value, torch.Tensor) else value == second[name]
        assert same, name
