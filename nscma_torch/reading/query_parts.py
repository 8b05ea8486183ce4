"""Build hypothetical answers and subquestions for query strategies without a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nscma_torch.core.records import Hit
from nscma_torch.reading.passage import best_passage, term_weights
from nscma_torch.text.capitalised import INSIDE
from nscma_torch.text.sentences import split_sentences

_WORDS = 40  # longest passage


def imagined(question: str, hits: Sequence[Hit]) -> list[str]:
    """Return hypothetical answers: the best passage from each hit of a first search.

    As rules can't write an unknown answer, this is pseudo-relevance feedback.
    """
    weights = term_weights(question, (hit.text for hit in hits))
    return list(dict.fromkeys(best_passage(hit.text, weights, _WORDS).text for hit in hits))


def divided(question: str) -> list[str]:
    """Split a question into its sentences, and repeat each sentence for every name in it, without the other names.

    Returns an empty list if there is only one part.
    """
    parts = []
    for span in split_sentences(question):
        sentence = question[span.start : span.end]
        names = list(dict.fromkeys(INSIDE.findall(sentence)))
        for kept in names or [""]:
            others = [re.escape(name) for name in names if name != kept]
            parts.append(re.sub(rf"(?<!\w)(?:{'|'.join(others)})(?!\w)\s*", "", sentence) if others else sentence)
    return [part.strip() for part in parts] if len(parts) > 1 else []
