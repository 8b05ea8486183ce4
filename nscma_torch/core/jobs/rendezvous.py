"""Rendezvous hashing (Thaler and Ravishankar 1998), which assigns users to workers.

Every process that knows the same workers computes the same assignment, without communication. If a worker leaves, its
users are spread evenly over the others and no other user moves; a new worker takes an equal share from all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection


def worker_of(user_id: str, workers: Collection[str]) -> str:
    """Return the worker assigned to a user. Raises `ValueError` if there are no workers."""
    return max(workers, key=lambda worker: (_weight(worker, user_id), worker))


def _weight(worker: str, user_id: str) -> bytes:
    return hashlib.blake2b(f"{worker}\0{user_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
