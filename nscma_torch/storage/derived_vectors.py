"""The vectors of derived texts; apart from `derived_texts`, so that what reads no vector does not load numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from nscma_torch.records import DerivedKind
from nscma_torch.storage import packed_vectors
from nscma_torch.storage.derived_schema import derived_texts
from nscma_torch.storage.schema import units

_T = derived_texts.c


def vectors_by_part(
    connection: Connection, namespace: str, kind: DerivedKind
) -> list[tuple[str, np.ndarray[Any, np.dtype[np.float32]]]]:
    """The part and the vector [d] of each unit of a kind's texts, in their order."""
    query = select(units.c.seq, _T.part).join(derived_texts, _T.id == units.c.stream_id)
    query = query.where(_T.namespace == namespace, _T.kind == kind, units.c.kind == kind)
    rows = connection.execute(query.order_by(_T.part, _T.number, units.c.seq)).all()
    vectors = packed_vectors.vectors_of(connection, [row.seq for row in rows])
    return [(row.part, vectors[row.seq]) for row in rows if row.seq in vectors]
