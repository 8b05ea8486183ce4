"""Convert vectors between tensors and stored bytes (d little-endian float32 numbers).

This is separate from `units`, so that code that reads no vectors loads neither torch nor numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sqlalchemy import Connection, select

from nscma_torch.core.database.database import pages
from nscma_torch.core.errors import VectorError
from nscma_torch.episodic.index import unit_changes
from nscma_torch.episodic.index.unit_schema import units, vectors


def pack_vector(vector: torch.Tensor) -> bytes:
    """Pack a vector [d] as little-endian float32. Raises `VectorError` for NaN or infinity."""
    refuse_infinite(vector)
    array: np.ndarray[Any, np.dtype[np.float32]] = vector.detach().to("cpu", torch.float32).numpy()
    return array.astype("<f4").tobytes()


def refuse_infinite(embedded: torch.Tensor) -> None:
    """Raise `VectorError` if vectors from the embedder contain NaN or infinity."""
    if not bool(torch.isfinite(embedded).all()):
        raise VectorError(
            "the embedder returned NaN or infinity; nothing was stored. Check the model's weights and dtype"
        )


def vectors_of(connection: Connection, seqs: Sequence[int]) -> dict[int, np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the vectors [d] by unit row number, for those units that have one."""
    query = select(vectors.c.unit_seq, vectors.c.vector)
    found = (row for some in pages(seqs) for row in connection.execute(query.where(vectors.c.unit_seq.in_(some))))
    return {seq: np.frombuffer(vector, dtype="<f4") for seq, vector in found}


def vectors_from(connection: Connection, stream_id: str, position: int) -> list[tuple[int, bytes]]:
    """Return the position and stored vector of each active chunk in a stream from a position on, in order."""
    query = (
        select(units.c.position, vectors.c.vector)
        .join(vectors, vectors.c.unit_seq == units.c.seq)
        .where(units.c.stream_id == stream_id, units.c.position >= position)
        .where(units.c.kind == "chunk", units.c.status == "active")
        .order_by(units.c.position, units.c.seq)
    )
    return [(place, vector) for place, vector in connection.execute(query).all()]


def add_vectors(connection: Connection, user_id: str, new: Mapping[int, torch.Tensor]) -> None:
    """Store vectors for units that have none yet; call `touch_user` in the same transaction."""
    unit_changes.note(connection, list(new))
    rows = [{"unit_seq": seq, "user_id": user_id, "vector": pack_vector(vector)} for seq, vector in new.items()]
    if rows:
        connection.execute(vectors.insert(), rows)
