"""Measures of an answer against the right ones, and of the evidence that it rests on.

Each names the file whose rules it follows. All are in [0, 1], but for a count of words; an empty reply scores 0.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import snowballstemmer

from eval.metrics.retrieval_metrics import mean, recall_at

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


def normalized(text: str, articles: str = "a|an|the") -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces.

    Source: hotpotqa/hotpot, hotpot_evaluate_v1.py @ 4c0fa5ea, the same as SQuAD's; MuSiQue's and 2Wiki's too.
    """
    text = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(rf"\b(?:{articles})\b", " ", text).split())


def exact_match(reply: str, answers: Sequence[str]) -> float:
    """Whether it is one of the answers when both are `normalized`."""
    return float(bool(reply) and normalized(reply) in map(normalized, answers))


def token_f1(reply: str, answers: Sequence[str], *, closed: bool = False) -> float:
    """F1 of words over the best answer, words counted as often as they occur.

    Source: StonyBrookNLP/musique, metrics/answer.py @ 8b8d8ce1, where 1 is for a reply and an answer of which nothing
    is left when they are `normalized`, as of "The" and "A". `closed`: by hotpotqa/hotpot, hotpot_evaluate_v1.py @
    4c0fa5ea, where those have 0, and so has what is yes, no or noanswer on either side unless they are equal.
    """
    if not reply:
        return 0.0
    return max((_token_f1(normalized(reply), normalized(answer), closed) for answer in answers), default=0.0)


def _token_f1(said: str, right: str, closed: bool) -> float:
    if said == right:
        return float(bool(said) or not closed)
    if closed and {said, right} & {"yes", "no", "noanswer"}:
        return 0.0
    return f1_of(said.split(), right.split())


def squad2_scores(reply: str, answers: Sequence[str]) -> tuple[float, float]:
    """SQuAD 2.0's exact match and F1 over the best answer; without answers it is right to reply nothing.

    Source: rajpurkar/SQuAD-explorer, evaluate-v2.0.py (`get_raw_scores`), by which an answer of which nothing is left
    when it is `normalized` is none.
    """
    right = [answer for answer in answers if normalized(answer)]
    if not right:
        silent = float(not normalized(reply))
        return silent, silent
    return exact_match(reply, right), token_f1(reply, right)


def f1_of(said: Sequence[Any], right: Sequence[Any]) -> float:
    """Harmonic mean of precision and recall of what is common to both, counted as often as it occurs."""
    common = sum((Counter(said) & Counter(right)).values())
    return 2 * common / (len(said) + len(right)) if common else 0.0


def stems(text: str, articles: str = "a|an|the") -> list[str]:
    """Porter stems of the `normalized` words."""
    return [stem(word) for word in normalized(text, articles).split()]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Porter's stem of a word in lower case."""
    found: str = snowballstemmer.stemmer("porter").stemWord(word)
    return found


def locomo_f1(reply: str, answer: str, category: int) -> float:
    """LoCoMo's score of an answerable question.

    Source: snap-research/locomo, task_eval/evaluation.py @ 92286325 (`eval_question_answering`): F1 of stemmed words
    without "and"; in category 1 (several answers, with commas between them) the mean over the answers of the best part
    of the reply; in category 3 what stands before the first semicolon of the answer. Its stemmer is NLTK's variant of
    Porter's, ours Porter's own: they differ in a few words such as "dying", on both sides alike.
    """
    if category == 1:
        parts = reply.split(",")
        return mean([max(_stem_f1(part, one) for part in parts) for one in answer.split(",")])
    return _stem_f1(reply, answer.split(";")[0] if category == 3 else answer)


def _stem_f1(reply: str, answer: str) -> float:
    return f1_of(stems(reply, "a|an|the|and"), stems(answer, "a|an|the|and"))


def locomo_abstained(reply: str) -> float:
    """LoCoMo's score of an unanswerable question, by the words of its prompt; source as of `locomo_f1`."""
    return float("no information available" in reply.lower() or "not mentioned" in reply.lower())


def holds(text: str, part: str) -> bool:
    """Whether the stems of `part` stand in the text one after another."""
    words, wanted = stems(text), stems(part)
    return bool(wanted) and any(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1))


def word_recall(text: str, part: str) -> float:
    """Share of the stems of `part` that stand anywhere in the text."""
    wanted = set(stems(part))
    return len(wanted & set(stems(text))) / len(wanted) if wanted else 0.0


def word_count(reply: str) -> float:
    """Words between white space: neither good nor bad, but what stands beside a measure that long replies win by."""
    return float(len(reply.split()))


def chosen_option(reply: str, options: Sequence[str]) -> int | None:
    """Which option a reply to a multiple choice chooses, None for none or several.

    It is the one whose words are the reply's, else that of the letter (A, B, ...) which the reply is or begins with,
    with a bracket, a dot or a colon, else the only one whose words stand in the reply. Abstaining chooses none.
    """
    said = [normalized(option) for option in options]
    if normalized(reply) in said:
        return said.index(normalized(reply))
    letter = re.match(r"\s*\(?([A-Z])(?:[).:]|\s*$)", reply)
    if letter and ord(letter[1]) - ord("A") < len(options):
        return ord(letter[1]) - ord("A")
    held = [i for i, option in enumerate(options) if holds(reply, option)]
    return held[0] if len(held) == 1 else None


def f1_of_classes(tp: float, fp: float, fn: float, tn: float) -> tuple[float, float]:
    """F1 of the positive and of the negative class (F1_P, F1_N), from counts or shares of the outcomes; 0 of none."""
    positive, negative = 2 * tp + fp + fn, 2 * tn + fp + fn
    return (2 * tp / positive if positive else 0.0), (2 * tn / negative if negative else 0.0)


def retrieval_scores(evidence: Sequence[int], found: Sequence[int], at: Sequence[int] = (5, 10)) -> dict[str, float]:
    """LongMemEval's measures of retrieval at each k: `recall_any@k`, `recall_all@k`, `ndcg_any@k`; {} without evidence.

    Source: xiaowu0162/LongMemEval, src/retrieval/eval_utils.py @ 6a92d1ab. Its gain at rank i (from 1) is 1 / log2(i)
    but for the first, where it is 1 (Jarvelin and Kekalainen 2002), so that the first two ranks weigh the same.
    """
    scores: dict[str, float] = {}
    for k in at if evidence else ():
        scores[f"recall_any@{k}"] = float(not set(evidence).isdisjoint(found[:k]))
        scores[f"recall_all@{k}"] = float(set(evidence) <= set(found[:k]))
        scores[f"ndcg_any@{k}"] = ndcg(evidence, found, k, discount=lambda rank: math.log2(max(rank, 2)))
    return scores


def evidence_ndcg(evidence: Sequence[int], found: Sequence[int] | None, k: int = 10) -> dict[str, float]:
    """`nDCG@k` of the evidence; {} without a ranking (None)."""
    return {} if found is None else {f"nDCG@{k}": ndcg(evidence, found, k)}


def ndcg(
    evidence: Sequence[int],
    found: Sequence[int],
    k: int,
    *,
    discount: Callable[[int], float] = lambda rank: math.log2(rank + 1),
) -> float:
    """nDCG at k: each hit counts 1 / discount of its rank, from 1, relative to the best ranking; 0 without evidence.

    The discount is that of trec_eval (`ndcg_cut`) unless another one is given.
    """
    ideal = sum(1 / discount(rank) for rank in range(1, min(k, len(evidence)) + 1))
    own = sum(1 / discount(rank) for rank, place in enumerate(found[:k], 1) if place in evidence)
    return own / ideal if ideal else 0.0


def evidence_recall(
    evidence: Sequence[int], found: Sequence[int] | None, at: Sequence[int] = (5, 10)
) -> dict[str, float]:
    """`recall@k` for each k: share of the evidence among the first k places; {} without evidence or ranking (None)."""
    return {f"recall@{k}": recall_at(found, evidence, k) for k in at} if evidence and found is not None else {}
