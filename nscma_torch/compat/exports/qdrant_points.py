"""Read the payloads in a local Qdrant collection, which stores its points as pickles in SQLite.

A pickle may run any code, so the reader only accepts the class for points, replaced by a plain container, and refuses
any other name in a pickle. Qdrant's client is not needed.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nscma_torch.compat.exports.foreign_sqlite import opened, rows
from nscma_torch.core.errors import MalformedInputError

_KNOWN = frozenset({"PointStruct", "SparseVector"})
_MODULES = ("qdrant_client.http.models.models", "qdrant_client.models", "qdrant_client.conversions.common_types")


class _Model:
    """Stand-in for a Qdrant model that stores its fields."""

    fields: Mapping[str, Any]

    def __setstate__(self, state: Any) -> None:
        inner = state.get("__dict__", state) if isinstance(state, Mapping) else {}
        self.fields = inner if isinstance(inner, Mapping) else {}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in _MODULES and name in _KNOWN:
            return _Model
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is not a point")


def payloads(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and payload of each point in a collection's `storage.sqlite`. Raises `MalformedInputError` for any
    other file.
    """
    with opened(path) as connection:
        for number, row in enumerate(rows(connection, "SELECT point FROM points"), start=1):
            try:
                point = _Reader(io.BytesIO(row["point"])).load()
                fields = point.fields
                key, payload = str(fields["id"]), fields["payload"]
            except (pickle.UnpicklingError, AttributeError, EOFError, LookupError, TypeError, ValueError) as error:
                raise MalformedInputError(f"{path}: point {number} cannot be read: {error}") from error
            yield key, payload if isinstance(payload, dict) else {}
