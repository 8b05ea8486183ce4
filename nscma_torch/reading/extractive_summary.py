"""Summaries without a language model: the sentences that together cover most of what the members share.

Budgeted maximum coverage (Takamura and Okumura, "Text Summarization Model based on Maximum Coverage Problem", EACL
2009; greedy ratio rule of Khuller, Moss and Naor 1999): a term weighs the more members hold it, and counts once.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nscma_torch.reading.passage import first_words, word_count
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import terms

_FRAGMENT = 4  # words: "ok, see you" says little, however well it fits


@dataclass(frozen=True, slots=True)
class _Sentence:
    member: int
    place: int
    text: str
    words: int
    terms: frozenset[str]


def extract_summary(members: Sequence[str], words: int) -> str:
    """At most `words` words of the members' own sentences, one a line, in the order of the members.

    A sentence that does not fit is passed over, and so is one of fewer than four words where there are longer ones.
    Where none fits, the beginning of the shortest one stands alone.
    """
    sentences = _sentences(members)
    if not sentences:
        return ""
    sentences = [sentence for sentence in sentences if sentence.words >= min(_FRAGMENT, words)] or sentences
    weights = _weights(sentences)
    chosen = _cover(sentences, weights, words)
    if not chosen:
        shortest = min(sentences, key=lambda sentence: (sentence.words, sentence.member, sentence.place))
        return first_words(shortest.text, words)
    return "\n".join(s.text for s in sorted(chosen, key=lambda s: (s.member, s.place)))


def _sentences(members: Sequence[str]) -> list[_Sentence]:
    """Sentences of all members, white space made even, each wording once."""
    found: dict[str, _Sentence] = {}
    for member, text in enumerate(members):
        for place, span in enumerate(split_sentences(text)):
            sentence = " ".join(text[span.start : span.end].split())
            if sentence and sentence not in found:
                own = frozenset(terms(sentence))
                found[sentence] = _Sentence(member, place, sentence, max(1, word_count(sentence)), own)
    return list(found.values())


def _weights(sentences: Sequence[_Sentence]) -> dict[str, float]:
    """Weight of each term: the logarithm of one more than the members that hold it."""
    holders = Counter(pair[1] for pair in {(s.member, term) for s in sentences for term in s.terms})
    return {term: math.log1p(count) for term, count in holders.items()}


def _cover(sentences: Sequence[_Sentence], weights: dict[str, float], words: int) -> list[_Sentence]:
    """Greedily by new weight per word.

    Gains only shrink, so a sentence is weighed again only when it comes up.
    """
    covered: set[str] = set()

    def gain(sentence: _Sentence) -> float:
        return sum(weights[term] for term in sorted(sentence.terms - covered)) / sentence.words

    queue = [(-gain(sentence), i) for i, sentence in enumerate(sentences)]
    heapq.heapify(queue)
    chosen: list[_Sentence] = []
    left = words
    while queue:
        _, i = heapq.heappop(queue)
        sentence = sentences[i]
        if sentence.words > left:
            continue
        now = gain(sentence)
        if now <= 0:
            continue
        if queue and (-now, i) > queue[0]:
            heapq.heappush(queue, (-now, i))
            continue
        chosen.append(sentence)
        covered |= sentence.terms
        left -= sentence.words
    return chosen
