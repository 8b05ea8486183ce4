"""Select the part of a message to show for a question.

A short message is shown whole; otherwise, the sentences around the best answer are shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nscma_torch.text.sentences import Span, split_sentences
from nscma_torch.text.terms import query_terms, terms


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a hit: `text` is the hit's text from `start` to `end`."""

    text: str
    start: int
    end: int


def best_passage(text: str, weights: Mapping[str, float], words: int) -> Passage:
    """Grow a passage around the sentence that covers most of the question.

    It has at most `words` words; sentences are never cut.

    `weights` are the weights of the question's terms; see `term_weights`.
    """
    spans = split_sentences(text)
    if not spans:
        return Passage(text, 0, len(text))
    covered = [sum(weights.get(term, 0.0) for term in set(terms(text[s.start : s.end]))) for s in spans]
    first = last = max(range(len(spans)), key=lambda i: (covered[i], -i))
    while True:
        if last + 1 < len(spans) and _size(text, spans[first], spans[last + 1]) <= words:
            last += 1
        elif first > 0 and _size(text, spans[first - 1], spans[last]) <= words:
            first -= 1
        else:
            break
    start, end = spans[first].start, spans[last].end
    return Passage(text[start:end], start, end)


def term_weights(question: str, texts: Iterable[str]) -> dict[str, float]:
    """Weight each term in a question by its rarity among the texts."""
    held = [set(terms(text)) for text in texts]
    return {
        term: math.log(1 + (len(held) + 0.5) / (sum(term in own for own in held) + 0.5))
        for term in set(query_terms(question))
    }


def covered(text: str, weights: Mapping[str, float]) -> float:
    """Return the total weight of the question's terms that occur in a text, summed independently of their order."""
    return math.fsum(weights[term] for term in set(terms(text)) & weights.keys())


def _size(text: str, first: Span, last: Span) -> int:
    return word_count(text[first.start : last.end])


def word_count(text: str) -> int:
    """Count the words in a text; in scripts without spaces, two characters count as one word."""
    unspaced = 0 if text.isascii() else sum(ord(character) >= 0x2E80 for character in text)
    return len(text.split()) + unspaced // 2


def first_words(text: str, words: int) -> str:
    """Return the longest beginning of a text within `words` words.

    The text is cut between words, or between characters in scripts without spaces.
    """
    if word_count(text) <= words:
        return text
    spaced = [m.start() for m in re.finditer(r"\s", text)]
    cuts = [cut for cut in spaced if 0 < word_count(text[:cut]) <= words]
    return text[: cuts[-1]] if cuts else text[: max(1, 2 * words - 1)]
