"""Vectors for derived texts; separate from `derived_texts`, so that code without vectors doesn't load numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from nscma_torch.core.records import DerivedKind
from nscma_torch.curator.store.derived_schema import derived_texts
from nscma_torch.episodic.index import packed_vectors
from nscma_torch.episodic.index.unit_schema import units

_T = derived_texts.c


class TextVector(NamedTuple):
    """The vector [d] of a unit that belongs to a derived text, with the text's id and part."""

    id: str
    part: str
    vector: np.ndarray[Any, np.dtype[np.float32]]


def text_vectors(connection: Connection, namespace: str, kind: DerivedKind) -> list[TextVector]:
    """Return the vectors for texts of a kind, in the texts' order."""
    query = select(units.c.seq, _T.id, _T.part).join(derived_texts, _T.id == units.c.stream_id)
    query = query.where(_T.namespace == namespace, _T.kind == kind, units.c.kind == kind)
    rows = connection.execute(query.order_by(_T.part, _T.number, units.c.seq)).all()
    vectors = packed_vectors.vectors_of(connection, [row.seq for row in rows])
    return [TextVector(row.id, row.part, vectors[row.seq]) for row in rows if row.seq in vectors]
