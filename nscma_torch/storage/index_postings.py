"""Postings of terms among one user's units: read from the store when they are first asked for, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sqlalchemy import Connection, String, cast, func, select
from torch import Tensor

from nscma_torch.storage.schema import postings

_KEPT = 4096  # terms


@dataclass(slots=True)
class Posting:
    """The occurrences of a term: rows [m] int64 ascending, and how often, tf [m] float32."""

    rows: Tensor
    tf: Tensor


class Postings:
    """The postings of one user in one state of the store. Several threads may ask at once."""

    def __init__(self, user_id: str) -> None:
        self._user_id = user_id
        self._kept: dict[str, Posting | None] = {}

    def of(
        self,
        connection: Connection,
        terms: Sequence[str],
        seqs: Tensor,  # [n] int64 ascending, units by row
        alive: Tensor,  # [n] bool, rows that count
    ) -> dict[str, Posting]:
        """The postings of those of these terms that stand anywhere."""
        wanted = dict.fromkeys(terms)
        known = {term: self._kept[term] for term in wanted if term in self._kept}
        new = [term for term in wanted if term not in known]
        if new:
            read = dict.fromkeys(new) | self._read(connection, new, seqs, alive)
            if len(self._kept) > _KEPT:
                self._kept = {}
            self._kept.update(read)
            known |= read
        found = ((term, known[term]) for term in wanted)
        return {term: posting for term, posting in found if posting is not None}

    def _read(self, connection: Connection, terms: Sequence[str], seqs: Tensor, alive: Tensor) -> dict[str, Posting]:
        # a list in a text for each term: a row for each posting takes four times as long
        lists = (func.aggregate_strings(cast(part, String), ",") for part in (postings.c.unit_seq, postings.c.tf))
        query = (
            select(postings.c.term, *lists)
            .where(postings.c.user_id == self._user_id, postings.c.term.in_(list(terms)))
            .group_by(postings.c.term)
        )
        found = {}
        for term, *texts in connection.execute(query):
            numbers = torch.from_numpy(np.stack([np.fromstring(text, np.int64, sep=",") for text in texts]))
            wanted, tf = numbers[:, numbers[0].argsort()].to(seqs.device)
            rows = torch.searchsorted(seqs, wanted).clamp_(max=len(seqs) - 1)
            # units no longer active keep their postings until they are erased
            held = (seqs[rows] == wanted) & alive[rows]
            found[term] = Posting(rows[held], tf[held].float())
        return found
