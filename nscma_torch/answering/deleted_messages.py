"""Find the deleted messages that a question may be about.

If what was told of a matter is deleted, a search finds its neighbours: the code of another door. So the reader reads
the deleted messages most similar to the question beside the hits, and if its answer would come from one of them, the
question stays without an answer. What they say is never shown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sqlalchemy import select
from torch import Tensor

from nscma_torch.core.database.database import Database
from nscma_torch.core.records import Unit
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.episodic.index.unit_schema import units as unit_rows

_LOOKED_AT = 500  # deleted passages, the newest ones
_READ = 3  # of them


def deleted_like(database: Database, user_id: str, embed: Callable[[], Tensor]) -> list[Unit]:
    """Return the user's deleted passages that are most similar to a question.

    Args:
        embed: returns the question's vector, [d]; only called if something is deleted.
    """
    deleted = (
        select(unit_rows.c.seq)
        .where(unit_rows.c.user_id == user_id, unit_rows.c.kind == "chunk", unit_rows.c.status == "deleted")
        .order_by(unit_rows.c.seq.desc())
        .limit(_LOOKED_AT)
    )
    with database.read(user_id) as connection:
        stored = packed_vectors.vectors_of(connection, list(connection.execute(deleted).scalars()))
        if not stored:
            return []
        scores = np.stack(list(stored.values())) @ embed().cpu().float().numpy()
        seqs = list(stored)
        best = [seqs[i] for i in np.argsort(-scores, kind="stable")[:_READ]]
        found = units.load(connection, user_id, best)
    return [found[seq] for seq in best if seq in found]
