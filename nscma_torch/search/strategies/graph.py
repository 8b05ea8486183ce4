"""Run personalised PageRank on a graph of entities, facts and messages (HippoRAG, Gutiérrez et al. 2024).

The nodes are the facts' entities and source messages; each fact links its subject and object to its messages. The walk
starts at the entities named in the question and at the best hits of a search, and returns there with probability 1 -
damping. A search result's score grows with the share of visits to its message.
"""

from __future__ import annotations

import torch

from nscma_kernels.personalized_pagerank import personalized_pagerank
from nscma_torch.core.erasable_cache import erasable_cache
from nscma_torch.core.records import Unit
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking, best_first
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.text.known_names import mentions, words_of
from nscma_torch.text.names import name_key

_POOL = 100  # hits that the walk may start at or end in
_DAMPING = 0.5
_SHARE = 0.1  # gain of the most visited message, relative to the best hit; best of .1, .25, .5
_STARTS = 10  # best hits that the walk starts at
_key = erasable_cache(1 << 16)(name_key)  # the same names come with every question
_words = erasable_cache(1 << 16)(words_of)


def graph(context: RetrievalContext, question: str, top_k: int) -> Ranking:
    """Return the best units, ranked by search score and by PageRank over facts and messages."""
    ranked = context.rank(question, max(top_k, _POOL))
    facts = context.facts()
    units = context.units(ranked.scores)
    if not (facts.facts and units):
        kept = dict(list(ranked.scores.items())[:top_k])
        return Ranking(kept, ranked.answerability, ranked.parts, trace=("no facts to walk over",))
    entities = {_words(name): _key(name) for name in facts.entities}
    asked = [entities[words] for words in mentions(question, entities)]
    visits = _visits(facts, asked, units, ranked.scores)
    best = max(ranked.scores.values())
    most = max(visits.values(), default=0.0) or 1.0
    gains = {seq: _SHARE * best * visits.get(_episode(unit), 0.0) / most for seq, unit in units.items()}
    scores = {seq: ranked.scores[seq] + gains[seq] for seq in units}
    kept = best_first(scores, top_k)
    parts = {seq: ranked.parts.get(seq, {}) | {"walk_score": gains[seq]} for seq in kept}
    trace = (f"walked over {len(facts.facts)} facts from {', '.join(asked) or 'the best hits'}",)
    return Ranking(kept, ranked.answerability, parts, trace)


def _visits(facts: FactGraph, asked: list[str], units: dict[int, Unit], scores: dict[int, float]) -> dict[str, float]:
    """Return each message's share of the walk's visits, by id."""
    entities, messages = facts.places, facts.network.messages
    walked = facts.network.told(None, facts.now)
    start = torch.zeros(walked.num_nodes, dtype=torch.float64)
    for entity in asked:
        start[entities[entity]] += 1.0
    for seq in list(units)[:_STARTS]:
        place = messages.get(_episode(units[seq]))
        if place is not None:
            start[len(entities) + place] += scores[seq] ** 2
    joined = torch.bincount(walked.edge_index[0], minlength=walked.num_nodes) > 0
    start = start.to(joined.device) * joined
    if not bool(start.any()):  # no fact that holds tells of anything to start from
        return {}
    shares = personalized_pagerank(walked, start[None], damping=_DAMPING, tol=1e-6)[0, len(entities) :].tolist()
    return dict(zip(messages, shares, strict=True))


def _episode(unit: Unit) -> str:
    return unit.episode_ids[0] if unit.episode_ids else ""
