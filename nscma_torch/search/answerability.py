"""Estimate whether the memory contains an answer, from a message's coverage of the question and its similarity.

    answerability = C_in / 2 + min(1, I_in / 16) / 2 + cos_in - max(0, C_out - C_in)

C is the largest share of the question's IDF mass in a single unit's own text; I is the same mass in nats, because a
chatty question has much mass that no answer repeats. `in` marks units by the speakers named in the question, and `out`
marks all other units; if the question names nobody, all units are `in`. A topic that only another speaker mentioned
counts against an answer. On the odd LoCoMo conversations, the AUC is .93 for answerable questions against questions
about other conversations, and .75 against adversarial ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from nscma_torch.episodic.index.index_postings import Posting
from nscma_torch.episodic.index.index_view import IndexView
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.search.lexical import idf
from nscma_torch.search.query import Query

Answerability = Callable[[], float]  # computed at the first call: it takes a pass over all vectors, and few ask for it

_ENOUGH = 16.0  # nats of IDF: two or three rare words


def answerability(
    index: UserIndex,
    view: IndexView,
    postings: Mapping[str, Posting],
    query: Query,
    meaning: Tensor,  # [d]
    mask: Tensor,  # [n] bool
    author: Tensor,  # [n] bool, units of the speakers named in the question
) -> float:
    """Return the support for an answer, in [-1, 2], among the units under `mask`.

    `view` contains the candidate vectors.
    """
    inside = mask & author if query.speakers else mask
    covered = torch.zeros(len(index), device=index.device)
    mass = 0.0
    units = int(mask.sum())
    for term in dict.fromkeys(query.terms):
        posting = postings.get(term)
        weight = idf(units, 0 if posting is None else int(mask.index_select(0, posting.rows).sum()))
        mass += weight
        if posting is not None:  # rows out of bounds too: none of them is looked at
            covered.index_add_(0, posting.rows, torch.ones_like(posting.tf), alpha=weight)
    known = _largest(covered, inside)
    share, elsewhere = (known / mass, _largest(covered, mask & ~inside) / mass) if mass else (0.0, 0.0)
    cosines = view.vectors @ meaning.to(view.vectors.dtype)
    nearest = _largest(cosines.float(), view.under(inside & index.embedded))
    return share / 2 + min(1.0, known / _ENOUGH) / 2 + nearest - max(0.0, elsewhere - share)


def _largest(values: Tensor, mask: Tensor) -> float:
    largest = float(torch.where(mask, values, -torch.inf).amax()) if len(values) else 0.0
    return largest if largest > -torch.inf else 0.0
