"""Does the memory hold an answer at all? Coverage of the question's words by one message, plus its nearest meaning.

support = C_in + cos_in - max(0, C_out - C_in)

C is the largest share of the question's IDF mass that one unit's own text holds; `in` are the units of those the
question is about, `out` all others (nobody named: all are `in`). A topic that only somebody else spoke of counts
against an answer. Measured on LoCoMo, against answerable questions: AUC .75 for adversarial questions, .88 for those
of other conversations.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from nscma_torch.retrieval.lexical import idf
from nscma_torch.retrieval.query import Query
from nscma_torch.storage.user_index import Posting, UserIndex


def support(
    index: UserIndex,
    postings: Mapping[str, Posting],
    query: Query,
    meaning: Tensor,  # [d]
    mask: Tensor,  # [n] bool
    author: Tensor,  # [n] bool, units of those whom the question is about
) -> float:
    """Support in [-1, 2] for an answer among the units under `mask`."""
    inside = mask & author if query.names_someone else mask
    covered = torch.zeros(len(index), device=index.device)
    mass = 0.0
    units = int(mask.sum())
    for term in set(query.terms):
        posting = postings.get(term)
        held = posting.rows[mask[posting.rows]] if posting is not None else None
        weight = idf(units, len(held)) if held is not None and len(held) else idf(units, 0)
        mass += weight
        if held is not None:
            covered[held] += weight
    if mass:
        covered /= mass
    coverage = _largest(covered, inside)
    elsewhere = _largest(covered, mask & ~inside)
    nearest = _largest(index.vectors @ meaning, inside & index.embedded)
    return coverage + nearest - max(0.0, elsewhere - coverage)


def _largest(values: Tensor, mask: Tensor) -> float:
    return float(values[mask].max()) if bool(mask.any()) else 0.0
