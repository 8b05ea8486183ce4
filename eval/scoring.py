"""Measures of an answer against the right ones, and of the evidence that it rests on.

Each names the file whose rules it follows. All are in [0, 1]; an empty reply scores 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from eval.metrics import recall_at

_PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
BABILONG_LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("qa1", "qa2", "qa3", "qa4"), _PLACES),
        "qa5": ("bill", "fred", "jeff", "mary", "apple", "football", "milk"),
        "qa6": ("no", "yes"),
        "qa7": ("none", "one", "three", "two"),
        "qa8": ("apple", "football", "milk", "nothing"),
        "qa9": ("no", "yes"),
        "qa10": ("maybe", "no", "yes"),
    }
)


def babilong_correct(target: str, output: str, question: str, task: str, *, whole_words: bool = False) -> bool:
    """Whether the first sentence of `output` names the target and no other label of the task.

    Source: booydar/babilong, babilong/metrics.py @ eeec6071; the labels of qa7 and qa8 and its answers of several
    things as in the copy of a later version, ftamburin/BABILong-ITA, babilong/metrics.py @ d1c8d3ae. Labels that the
    question names are not counted. `whole_words`: where one label holds another (qa7: "none", "one"), they are looked
    for as words; by the source's rule no answer "none" is ever right.
    """
    labels = BABILONG_LABELS[task]
    said = re.split(r"\.|<context>|<example>", output.lower(), maxsplit=1)[0]
    nested = whole_words and any(one != other and one in other for one in labels for other in labels)

    def named(label: str, text: str) -> bool:
        return re.search(rf"\b{label}\b", text) is not None if nested else label in text

    found = {label for label in labels if named(label, said) and not named(label, question.lower())}
    return found == set(target.lower().split(","))


def evidence_recall(evidence: Sequence[int], found: Sequence[int], at: Sequence[int] = (5, 10)) -> dict[str, float]:
    """`recall@k` for each k: share of the evidence among the first k places; nothing where there is no evidence."""
    return {f"recall@{k}": recall_at(found, evidence, k) for k in at} if evidence else {}
