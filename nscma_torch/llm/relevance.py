"""How far hits answer a question, and what to ask next, judged by words alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from nscma_torch.llm.passage import best_passage, term_weights
from nscma_torch.records import Hit
from nscma_torch.text.terms import terms

_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*")
_WORDS = 60  # of a passage that is judged
_ADDED = 6  # words that a question gains
_CHOSEN = 0.5  # relevance, relative to the best, from which on a hit helps


def relevance(question: str, hits: Sequence[Hit]) -> list[float]:
    """For each hit, in [0, 1]: mean of its score and of the share of the question that its best passage covers."""
    weights = term_weights(question, hits)
    mass = sum(weights.values()) or 1.0
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    found = []
    for hit in hits:
        passage = best_passage(hit.text, weights, _WORDS).text
        covered = sum(weights.get(term, 0.0) for term in set(terms(passage)))
        found.append((hit.score / top + covered / mass) / 2)
    return found


def helpful(question: str, hits: Sequence[Hit]) -> list[bool]:
    """Which hits help: those that are at least half as relevant as the best."""
    values = relevance(question, hits)
    return [value >= _CHOSEN * max(values) for value in values]


def refined(question: str, hits: Sequence[Hit]) -> str:
    """The question with the names that its best hits mention most and that it lacks; "" where there are none."""
    known = set(terms(question))
    weights = term_weights(question, hits)
    named: Counter[str] = Counter()
    for hit in hits:
        passage = best_passage(hit.text, weights, _WORDS).text
        named.update({name for name in _NAME.findall(passage) if not known & set(terms(name))})
    words = [name for name, _ in sorted(named.items(), key=lambda item: (-item[1], item[0]))]
    added = " ".join(" ".join(words).split()[:_ADDED])
    return f"{question} {added}" if added else ""
