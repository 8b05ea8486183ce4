"""Find facts about the death of a pet, a spouse or anyone else whom other facts mention.

"Rex died" and "Rex is Ben's pet" are separate facts: the first doesn't end the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nscma_torch.core.records import Fact
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.text.names import name_key

_STATUS = "status"
_DEAD = re.compile(r"\b(?:die[sd]|dead|deceased|pass(?:ed)?\saway)\b", re.IGNORECASE)
# a late father is still a father, and where somebody was born does not change
_UNTIL_DEATH = frozenset({
    "colleague", "lives_in", "manager", "married_to", "partner", "pet", "roommate", "studies_at", "works_at",
})  # fmt: skip


def deaths(found: Sequence[Fact], graph: FactGraph) -> tuple[Fact, ...]:
    """Return the facts stating that a subject or object of the facts in `found` has died."""
    named = {name_key(name) for one in found if one.relation in _UNTIL_DEATH for name in (one.subject, one.object)}
    return tuple(
        one
        for one in graph.facts
        if one.relation == _STATUS and name_key(one.subject) in named and graph.holds(one) and _DEAD.search(one.object)
    )
