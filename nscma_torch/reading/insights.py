"""Derive insights without a language model: the topic of a cluster of one person's messages, with counts and an
example.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.reading.topics import LEAST, speakers_of, topic_line, topic_words
from nscma_torch.text.terms import terms

_SHARE = 0.3  # of a cluster's messages that hold its topic, at least


def insights(groups: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
    """Return at most one line per group: the topic that distinguishes the group from others, and related terms.

    A person has at most one line per topic. Messages outside the cluster may mention the topic, too, so the true number
    may exceed the line's count.
    """
    held = [[set(terms(unit.text)) for unit in group] for group in groups]
    counts = [Counter(term for own in group for term in own) for group in held]
    everywhere = sum(counts, Counter[str]())
    messages = sum(len(group) for group in groups)
    speakers = speakers_of(unit for group in groups for unit in group)
    found = []
    used: set[tuple[str | None, str]] = set()  # names and topics
    for group, own, count in zip(groups, held, counts, strict=True):
        written = topic_words(group, speakers)
        words = {term: word for term, word in written.items() if (group[0].name, term) not in used}
        outside = {term: (1 + messages - len(group)) / (1 + everywhere[term] - count[term]) for term in count}
        topic = _topic(group, count, outside, words)
        line = None if topic is None else topic_line(group, own, outside, written, topic)
        found.append([] if line is None else [line])
        if topic is not None and line is not None:
            used.add((group[0].name, topic))
    return found


def _topic(
    group: Sequence[Unit], count: Counter[str], outside: Mapping[str, float], words: Mapping[str, str]
) -> str | None:
    """Return the term that is most characteristic of a group: frequent in its messages and rare elsewhere."""
    topics = [term for term, n in count.items() if term in words and n >= max(LEAST, _SHARE * len(group))]
    return max(topics, key=lambda term: (count[term] * math.log(1 + outside[term]), term), default=None)
