"""Choose the current one of several values that the reader finds for a question about the present.

The reader's best span is often an outdated value; then the current one is usually among its other spans, in a later
passage that its change head recognises as a change of the earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import probability_of_effect

CHANGED = 0.4  # probability of a change from which the later passage's value is the current one
# Least share of the later value, as a fraction of the best one's; of .02 and .004 on two development authors.
SHARE = 0.004


def current_value(
    reader: Reader, read: ReadResult, passages: Sequence[InputPassage], trust: Sequence[float]
) -> ReadSpan | None:
    """Return the best span in a later passage that changes the best span's passage, or None if there is none.

    `passages` are in the order they were said. A passage changes none that is trusted more, by `trust`. Costs one pass
    over as many pairs of passages as there are later passages with a span of at least `SHARE`.
    """
    if not read.spans:
        return None
    best = read.spans[0]
    later: dict[int, ReadSpan] = {}
    for span in read.spans[1:]:
        if span.passage <= best.passage or span.share < SHARE * best.share or passages[span.passage].context:
            continue
        if trust[span.passage] >= trust[best.passage]:
            later.setdefault(span.passage, span)
    if not later:
        return None
    said = passages[best.passage]
    changes = reader.changes([f"{said.speaker}: {said.text}"] * len(later), [[passages[place]] for place in later])
    changed = probability_of_effect(changes).tolist()
    return next((span for span, p in zip(later.values(), changed, strict=True) if p >= CHANGED), None)
