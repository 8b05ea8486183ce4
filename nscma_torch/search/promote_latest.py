"""Rank the newest statement on a topic before the older ones that it replaces.

For a question about the present ("What is my budget?"), if two of the best hits are by the same person and on the same
topic, the newer hit is moved directly before the older one. Nothing is dropped: if the older hit is in fact about
something else, it is only one place further down. The older hit is marked as renewed; the code that reads the hits
decides what to do with the mark.

What later messages outdate is known for messages that were compared when they were read (`nscma_torch/standing`).
Otherwise, two messages are on the same topic if their vectors are similar, and the newer one contains most of the
question's words that the older one contains: "My cat is called Tom" doesn't renew "My dog is called Rex" for a question
about the dog.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from torch import Tensor

from nscma_torch.core.records import Unit
from nscma_torch.text.terms import query_terms, terms

HEAD = 10  # best hits that are looked at
# chosen on even conversations, between the share of updates that come first in BEAM and recall@5 in LoCoMo
_SAME_MATTER = 0.55  # least cosine of the two; of .4-.65
_AS_GOOD = 0.7  # least score of the newer, as a share of that of the older; of .5-.9
_AS_MUCH = 0.6  # least share of the question's words in the older that the newer has too; of .4-1


def promote_latest(
    scores: Mapping[int, float],
    units: Mapping[int, Unit],
    cosines: Callable[[Sequence[int]], Tensor],
    question: str,
    outdated: Mapping[int, Collection[int]] | None = None,
) -> tuple[dict[int, float], frozenset[int]]:
    """Reorder scores (by row number, best first); return them and the units that a newer unit renews.

    A promoted unit gets the score of the unit that it now precedes.

    Args:
        units: the ranked units, at least the first `HEAD`.
        cosines: returns the pairwise cosines of units by row number, [m] to [m, m].
        outdated: units that don't hold because of later messages, each with the units that tell it.
    """
    known = {} if outdated is None else outdated
    order = [seq for seq in list(scores)[:HEAD] if seq in units and units[seq].role == "user"]
    if len(order) < 2:
        return dict(scores), frozenset(known)
    alike = dict(zip(order, cosines(order).tolist(), strict=True))
    column = {seq: i for i, seq in enumerate(order)}
    wanted = set(query_terms(question))
    asked = {seq: wanted & set(terms(units[seq].text)) for seq in order}

    def renews(newer: int, older: int) -> bool:
        """Return True if `newer` is known to outdate `older`, or is later and on the same topic."""
        return newer in known.get(older, ()) or (
            (units[older].occurred_at, older) < (units[newer].occurred_at, newer)
            and units[older].name == units[newer].name
            and set(units[older].episode_ids).isdisjoint(units[newer].episode_ids)
            and scores[newer] >= _AS_GOOD * scores[older]
            and alike[newer][column[older]] >= _SAME_MATTER
            and len(asked[newer] & asked[older]) >= _AS_MUCH * len(asked[older])
        )

    ranked, value, renewed = list(scores), dict(scores), set(known)
    for newer in sorted(order, key=lambda seq: (units[seq].occurred_at, seq)):  # so a later one ends up before it
        place = ranked.index(newer)
        matter = {older for older in order if renews(newer, older)}
        renewed |= matter
        first = next((older for older in ranked[:place] if older in matter), None)
        if first is not None:
            ranked.insert(ranked.index(first), ranked.pop(place))
            value[newer] = value[first]
    return {seq: value[seq] for seq in ranked}, frozenset(renewed)
