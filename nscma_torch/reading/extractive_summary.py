"""Summarize without a language model: select the sentences that together cover most of the members' shared content.

Budgeted maximum coverage (Takamura and Okumura, "Text Summarization Model based on Maximum Coverage Problem", EACL
2009), with the greedy ratio rule by Khuller, Moss and Naor (1999). A term's weight grows with the number of members
that contain it, and each term counts once.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
    """Return a summary of at most `words` words: the members' own sentences, one per line, in the members' order.

    Sentences that exceed the remaining words are skipped, as are sentences of fewer than four words if there are longer
    ones. If no sentence is short enough, the beginning of the shortest one is returned.
    """
    pairs = ((member, text, span) for member, text in enumerate(members) for span in split_sentences(text))
    sentences = _sentences((member, text[span.start : span.end]) for member, text, span in pairs)
    if not sentences:
        return ""
    sentences = [sentence for sentence in sentences if sentence.words >= min(_FRAGMENT, words)] or sentences
    chosen = _cover(sentences, _weights(sentences), words)
    if not chosen:
        shortest = min(sentences, key=lambda sentence: (sentence.words, sentence.place))
        return first_words(shortest.text, words)
    return "\n".join(s.text for s in chosen)


def covering_sentences(
    sentences: Iterable[tuple[int, str]], words: int, value: Callable[[str], float]
) -> list[tuple[int, str]]:
    """Select the sentences that cover most of the members' shared content; return them in order, each with its member.

    The selection has at most `words` words and no duplicates; `value` weights each sentence. Sentences of fewer than
    four words are omitted if there are longer ones.
    """
    found = _sentences(sentences)
    found = [sentence for sentence in found if sentence.words >= _FRAGMENT] or found
    values = [value(sentence.text) for sentence in found]
    return [(s.member, s.text) for s in _cover(found, _weights(found), words, values)]


def _sentences(said: Iterable[tuple[int, str]]) -> list[_Sentence]:
    """Return the distinct sentences with their members, with whitespace normalised."""
    found: dict[str, _Sentence] = {}
    for place, (member, text) in enumerate(said):
        sentence = " ".join(text.split())
        if sentence and sentence not in found:
            own = frozenset(terms(sentence))
            found[sentence] = _Sentence(member, place, sentence, max(1, word_count(sentence)), own)
    return list(found.values())


def _weights(sentences: Sequence[_Sentence]) -> dict[str, float]:
    """Return each term's weight: the logarithm of one plus the number of members that contain it."""
    holders = Counter(pair[1] for pair in {(s.member, term) for s in sentences for term in s.terms})
    return {term: math.log1p(count) for term, count in holders.items()}


def _cover(
    sentences: Sequence[_Sentence], weights: dict[str, float], words: int, values: Sequence[float] | None = None
) -> list[_Sentence]:
    """Select sentences greedily by added weight per word times the sentence's value, and return them in order.

    Gains can only shrink, so a sentence is re-evaluated only when it reaches the top of the queue.
    """
    covered: set[str] = set()

    def gain(i: int) -> float:
        sentence = sentences[i]
        new = sum(weights[term] for term in sorted(sentence.terms - covered)) / sentence.words
        return new if values is None else new * values[i]

    queue = [(-gain(i), i) for i in range(len(sentences))]
    heapq.heapify(queue)
    chosen: list[_Sentence] = []
    left = words
    while queue:
        _, i = heapq.heappop(queue)
        sentence = sentences[i]
        if sentence.words > left:
            continue
        now = gain(i)
        if now <= 0:
            continue
        if queue and (-now, i) > queue[0]:
            heapq.heappush(queue, (-now, i))
            continue
        chosen.append(sentence)
        covered |= sentence.terms
        left -= sentence.words
    return sorted(chosen, key=lambda sentence: sentence.place)
