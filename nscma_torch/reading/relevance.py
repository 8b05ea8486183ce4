"""Score how well hits answer a question, and choose follow-up queries, using only their words.

A hit's relevance combines three values in [0, 1]: its score relative to the best hit's; its share of the question's
adjacent word pairs, in order (sequential dependence; Metzler and Croft 2005); and its share of the words that are
common in the best hits but absent from the question (relevance feedback; Lavrenko and Croft 2001). Words are weighted
by their rarity among the hits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from itertools import pairwise
from typing import TypeVar

from nscma_torch.core.records import Hit
from nscma_torch.reading.passage import best_passage, term_weights
from nscma_torch.text.capitalised import LENT
from nscma_torch.text.terms import query_terms, terms

T = TypeVar("T", bound=Hashable)
_PHRASES = 0.2  # weight of the pairs, relative to that of the score; of .1-.5
_GAP = 2  # words from the first of a pair to the second, at most
_FEEDBACK = 0.35  # weight of the shared words; of .2-.5
_READ = 5  # number of best hits for shared words; best of 5, 10, 20
_SHARED = 10  # words that they lend; of 10, 20, 40
_CHOSEN = 0.35  # relevance, relative to the best, from which on a hit helps; of .25, .35, .5
_WORDS = 60  # of a passage that is read for names
_ADDED = 6  # words that a question gains


def relevance(question: str, hits: Sequence[Hit]) -> list[float]:
    """Return each hit's relevance, in [0, 1]."""
    texts = [terms(hit.text) for hit in hits]
    holders = Counter(term for text in texts for term in set(text))
    rarity = {term: _rarity(len(hits), holders[term]) for term in holders}
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    own = [hit.score / top for hit in hits]
    asked = query_terms(question)
    pairs = {pair: min(rarity.get(term, 0.0) for term in pair) for pair in pairwise(asked) if pair[0] != pair[1]}
    shared = _shared(own, texts, {term: rarity[term] for term in rarity if holders[term] > 1 and term not in asked})
    whole = 1 + _PHRASES + _FEEDBACK
    return [
        (score + _PHRASES * _share(pairs, _pairs_of(text)) + _FEEDBACK * _share(shared, set(text))) / whole
        for score, text in zip(own, texts, strict=True)
    ]


def _rarity(hits: int, holders: int) -> float:
    return math.log(1 + (hits + 0.5) / (holders + 0.5))


def _shared(own: Sequence[float], texts: Sequence[Sequence[str]], rarity: dict[str, float]) -> dict[str, float]:
    """Return the most frequent words in the best hits, with their weights."""
    found: dict[str, float] = {}
    for i in sorted(range(len(own)), key=lambda i: -own[i])[:_READ]:
        for term in set(texts[i]) & rarity.keys():
            found[term] = found.get(term, 0.0) + own[i] * rarity[term]
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_SHARED])


def _pairs_of(text: Sequence[str]) -> set[tuple[str, str]]:
    return {(text[i], text[i + gap]) for gap in range(1, _GAP + 1) for i in range(len(text) - gap)}


def _share(weights: Mapping[T, float], held: Set[T]) -> float:
    """Return the share of the total weight that falls on the words in `held`."""
    mass = sum(weights.values())
    return sum(weight for one, weight in weights.items() if one in held) / mass if mass else 0.0


def helpful(question: str, hits: Sequence[Hit]) -> list[bool]:
    """Return for each hit whether its relevance is at least `_CHOSEN` times the best relevance."""
    values = relevance(question, hits)
    return [value >= _CHOSEN * max(values) for value in values]


def refined(question: str, hits: Sequence[Hit]) -> str:
    """Return the question, adding names that it lacks but its best hits mention; return "" if there are none.

    A name is weighted by its rarity and by the squared relative scores of the hits whose best passages mention it.
    Speakers' names are excluded, because adding them would restrict the search to their messages.
    """
    weights = term_weights(question, (hit.text for hit in hits))
    speakers = [hit.unit.name for hit in hits if hit.unit.name and hit.unit.role != "document"]
    known = set(terms(" ".join([question, *speakers])))
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    mentioned: dict[str, list[float]] = {}
    for hit in hits:
        passage = best_passage(hit.text, weights, _WORDS).text
        for name in set(LENT.findall(passage)):
            own = set(terms(name))
            if own and not known & own:
                mentioned.setdefault(name, []).append((hit.score / top) ** 2)
    value = {name: sum(own) * _rarity(len(hits), len(own)) for name, own in mentioned.items()}
    added: list[str] = []
    for name in sorted(value, key=lambda name: (-value[name], name)):
        new = [word for word in name.split() if word not in added]
        if len(added) + len(new) <= _ADDED:
            added += new
    return " ".join([question, *added]) if added else ""
