"""Which option of a multiple choice a few texts support best, without a language model.

An option that is an answer, word for word, is taken. Else each is scored against the texts, and the best wins, the
first of equals: the share of its terms that a text holds, a term counting the less, the more options and the question
have it (terms of all options tell nothing), plus the cosine of "question option" with the text; the best text counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from eval.readers.reader_passages import readable
from nscma_torch.core.protocols import Embedder
from nscma_torch.text.names import name_key
from nscma_torch.text.terms import terms


def supported_option(question: str, options: Sequence[str], texts: Sequence[str], embedder: Embedder) -> str:
    """One of the options, of which there is at least one."""
    given = {name_key(text) for text in texts}
    exact = [option for option in options if name_key(option) in given]
    if len(exact) == 1:
        return exact[0]
    weights = _weights(question, options)
    held = [set(terms(text)) for text in texts]
    asked = [readable(f"{question} {option}", embedder) for option in options]
    shown = [readable(text, embedder) for text in texts]
    cosine = (embedder.embed(asked) @ embedder.embed(shown).T).tolist() if texts else [[] for _ in options]
    scores = []
    for option, row in zip(options, cosine, strict=True):
        own = set(terms(option))
        scores.append(max((_share(own, has, weights) + near for has, near in zip(held, row, strict=True)), default=0.0))
    return options[max(range(len(options)), key=lambda i: (scores[i], -i))]


def _weights(question: str, options: Sequence[str]) -> dict[str, float]:
    count = Counter(term for text in (question, *options) for term in set(terms(text)))
    return {term: math.log((len(options) + 1) / times) for term, times in count.items()}


def _share(own: set[str], held: set[str], weights: dict[str, float]) -> float:
    whole = sum(weights[term] for term in own)
    return sum(weights[term] for term in own & held) / whole if whole else 0.0
