"""Find the fact that a yes-or-no question asks about in its relation's words: "Do I have coeliac disease?".

The network that parses questions isn't sure about every object. Here, the question is compared with the facts about the
asker, each phrased with its relation's template; if several match, none is returned.
"""

from __future__ import annotations

import re

from nscma_torch.core.records import FactQuery
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.text.names import name_key
from nscma_torch.text.terms import terms

_WHETHER = re.compile(r"\s*(?:and\s+|so\s+)?(?P<auxiliary>do|am|can)\s+i\s+(?P<rest>[^?]+?)\s*\?*\s*", re.IGNORECASE)
_STATES = re.compile(r"\{subject\} (?P<words>[a-z][a-z ]*) \{object\}")
_AUXILIARIES = {"is": "am", "can": "can"}  # of a question, by the first word of a template; "do" for others


def state_asked(question: str, graph: FactGraph, asker: str) -> FactQuery | None:
    """Return the query for the fact about the asker that a question states word for word.

    Returns None unless exactly one fact matches.
    """
    asked = _WHETHER.fullmatch(question)
    if asked is None:
        return None
    words = terms(asked["rest"])
    fitting = set()
    for one in graph.facts:
        states = _STATES.fullmatch(graph.schema[one.relation].en.template)
        if states is None or name_key(one.subject) != name_key(asker) or not one.object:
            continue
        verb = states["words"].partition(" ")[0]
        same = _AUXILIARIES.get(verb, "do") == asked["auxiliary"].lower()
        if same and words == terms(f"{states['words']} {one.object}"):
            fitting.add((one.relation, one.object))
    if len(fitting) != 1:
        return None
    ((relation, value),) = fitting
    return FactQuery("whether", (relation,), asker, value)
