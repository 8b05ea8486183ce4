"""Idempotency keys for messages without ids."""

from __future__ import annotations

import hashlib
from collections import Counter


class Occurrences:
    """Makes a key of a text's digest and of how often it came before, so that equal messages have different keys, and a
    newer export gives the same keys.
    """

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()

    def key(self, *said: str) -> str:
        """Return the key for the next message with these contents."""
        digest = hashlib.sha256("\0".join(said).encode(errors="surrogatepass")).digest()[:16]
        self._seen[digest] += 1
        return f"{digest.hex()}:{self._seen[digest]}"
