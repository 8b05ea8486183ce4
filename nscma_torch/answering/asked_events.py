"""Find the event that a question describes to ask for its time: "When do we meet Dana?", "When do we go to Lisbon?".

The network that parses questions recognises an event only by its name ("When is the meeting?"). Here, the question's
words are compared with the names of dated events; if several events match, none is returned.
"""

from __future__ import annotations

import re

from nscma_torch.core.records import FactQuery
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.text.names import name_key
from nscma_torch.text.terms import terms

_AHEAD = re.compile(r"\s*(?:and\s+|so\s+)?when(?:\s+(?:do|does|am|are|is|will|shall|should)\b|['’](?:s|re)\b)", re.I)
_TAKES_PLACE = frozenset(terms("take place happen start begin scheduled planned held due set date"))
_GO = frozenset(terms("go travel fly drive head leave visit"))
_JOURNEY = frozenset(terms("trip journey travel visit flight train tour holiday vacation departure stay appointment"))
_COMPLEMENT = re.compile(r"\s(?:with|to|in|at|for|of|from|on|about|by)\s", re.I)


def event_asked(question: str, graph: FactGraph, asker: str) -> FactQuery | None:
    """Return the query for the time of the future event that a question describes.

    Returns None unless exactly one event matches.
    """
    if not (begin := _AHEAD.match(question)):
        return None
    asked = set(terms(question[begin.end() :])) - _TAKES_PLACE
    dated = [one for one in graph.facts if _is_of_event(one.relation, graph) and graph.holds(one)]
    fitting = {(one.relation, one.subject) for one in dated if _names(asked, one.subject, asker)}
    if len(fitting) != 1:
        return None
    ((relation, subject),) = fitting
    return FactQuery("object", (relation,), subject)


def _is_of_event(relation: str, graph: FactGraph) -> bool:
    return graph.schema.shape(relation) == "date" and graph.schema.kinds[graph.schema[relation].subject].like == "thing"


def _names(asked: set[str], event: str, asker: str) -> bool:
    """Return True if words describe an event: they include its head noun, and nothing that isn't in its name. A journey
    may be described by its destination.
    """
    owner, owned, name = event.rpartition("'s ")
    if owned and name_key(owner) != name_key(asker) and not set(terms(owner)) <= asked:
        return False
    head = terms(_COMPLEMENT.split(name, maxsplit=1)[0])[-1:]
    said = set(terms(event))
    if said & _JOURNEY and asked & _GO:
        where = asked - _GO
        return bool(where) and where == said - _JOURNEY - set(terms(owner))
    return bool(head) and head[0] in asked <= said
