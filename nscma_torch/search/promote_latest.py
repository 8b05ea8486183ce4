"""Puts the newest statement of a matter before the older ones that it replaces.

For a question on how something stands now ("What is my budget?"), of two of the best hits in which one person speaks of
the same matter, the newer one is put directly before the older. Nothing is dropped, and the set of hits stays: an
older one that turns out to be about something else is one place further down. It is marked as renewed; what is made of
that is up to who reads the hits.

Two messages are of one matter where their vectors are near, and the newer one holds most of the question's words that
the older holds: "My cat is called Tom" renews no "My dog is called Rex" for who asks what the dog is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
) -> tuple[dict[int, float], frozenset[int]]:
    """These scores (by row number, best first) in the new order, and the units that a newer one renews.

    A unit that is moved up takes the score of the one that it now precedes.

    Args:
        units: those of the first `HEAD`, at least.
        cosines: of units by row number, [m] to [m, m].
    """
    order = [seq for seq in list(scores)[:HEAD] if seq in units and units[seq].role == "user"]
    if len(order) < 2:
        return dict(scores), frozenset()
    alike = dict(zip(order, cosines(order).tolist(), strict=True))
    column = {seq: i for i, seq in enumerate(order)}
    wanted = set(query_terms(question))
    asked = {seq: wanted & set(terms(units[seq].text)) for seq in order}

    def renews(newer: int, older: int) -> bool:
        """Return True if one message is on the same matter as the other and later."""
        return (
            (units[older].occurred_at, older) < (units[newer].occurred_at, newer)
            and units[older].name == units[newer].name
            and set(units[older].episode_ids).isdisjoint(units[newer].episode_ids)
            and scores[newer] >= _AS_GOOD * scores[older]
            and alike[newer][column[older]] >= _SAME_MATTER
            and len(asked[newer] & asked[older]) >= _AS_MUCH * len(asked[older])
        )

    ranked, value, renewed = list(scores), dict(scores), set()
    for newer in sorted(order, key=lambda seq: (units[seq].occurred_at, seq)):  # so a later one ends up before it
        place = ranked.index(newer)
        matter = {older for older in order if renews(newer, older)}
        renewed |= matter
        first = next((older for older in ranked[:place] if older in matter), None)
        if first is not None:
            ranked.insert(ranked.index(first), ranked.pop(place))
            value[newer] = value[first]
    return {seq: value[seq] for seq in ranked}, frozenset(renewed)
