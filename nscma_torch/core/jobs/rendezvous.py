"""Rendezvous hashing (Thaler and Ravishankar 1998): which of several workers a user belongs to.

Everybody who knows the same workers comes to the same one, without asking. A worker that goes leaves its users to the
others, evenly, and moves nobody else's; one that comes takes its part from all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection


def worker_of(user_id: str, workers: Collection[str]) -> str:
    """The worker of a user. Raises ValueError where there is none."""
    return max(workers, key=lambda worker: (_weight(worker, user_id), worker))


def _weight(worker: str, user_id: str) -> bytes:
    return hashlib.blake2b(f"{worker}\0{user_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
