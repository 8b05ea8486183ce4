"""Language tasks on labelled inputs: how each task is called, and the measures of its replies.

An unusable reply counts as wrong in every measure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.experiments.model.labelled_cases import Case, LabelledReply, hits_of, told_fact, unit
from eval.experiments.model.summary_measures import summary_measures
from eval.reporting.measures import Measure, average, share
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.embedded_tasks import EmbeddedTasks

Tasks = PromptedTasks | EmbeddedTasks


@dataclass(frozen=True, slots=True)
class LabelledTask:
    """The call for one case, and the measures of all replies."""

    call: Callable[[Tasks, Case], Any]
    measures: Callable[[Sequence[LabelledReply]], list[Measure]]


def _operate(tasks: Tasks, case: Case) -> dict[str, Any]:
    known = [told_fact(str(number), fact) for number, fact in enumerate(case["known"], start=1)]
    (chosen,) = tasks.operate([(told_fact("new", case["new"]), known)])
    return {"operation": chosen.action, "facts": sorted(int(number) for number in chosen.fact_ids)}


def _adjudicate(tasks: Tasks, case: Case) -> int:
    (side,) = tasks.adjudicate([[[unit(message) for message in side] for side in case["sides"]]])
    return 0 if side is None else side + 1


def _refine(tasks: Tasks, case: Case) -> str:
    return tasks.refine(case["question"], hits_of(case))


def _rate(tasks: Tasks, case: Case) -> list[int]:
    return tasks.rate([unit(case["more"]), unit(case["less"])])


def _summarize(tasks: Tasks, case: Case) -> str:
    (summary,) = tasks.summarize([[unit(message) for message in case["messages"]]])
    return summary


def _rerank(tasks: Tasks, case: Case) -> list[float]:
    return tasks.rerank(case["question"], hits_of(case))


def _select(tasks: Tasks, case: Case) -> list[bool]:
    return tasks.select(case["question"], hits_of(case))


def _operations(found: Sequence[LabelledReply]) -> list[Measure]:
    labels = [one.case["operation"] for one in found]
    right = [one.reply is not None and one.reply["operation"] == one.case["operation"] for one in found]
    facts = [one.reply is not None and one.reply["facts"] == sorted(one.case["facts"]) for one in found]
    kinds = Counter(labels)
    most = max(kinds, key=lambda kind: kinds[kind], default="")
    return [
        share("right operation", right),
        share("right operation and facts", [both == (True, True) for both in zip(right, facts, strict=True)]),
        share("always the most frequent operation", [of == most for of in labels]),
        *(
            share(f"right operation, {kind}", [r for r, of in zip(right, labels, strict=True) if of == kind])
            for kind in sorted(kinds)
        ),
    ]


def _adjudications(found: Sequence[LabelledReply]) -> list[Measure]:
    decidable = [(one.reply, one.case["right"]) for one in found if one.case["right"]]
    return [
        share("decidable: right side", [reply == right for reply, right in decidable]),
        share("decidable: wrong side", [bool(reply) and reply != right for reply, right in decidable]),
        share("undecidable: left open", [one.reply == 0 for one in found if not one.case["right"]]),
    ]


def _refinements(found: Sequence[LabelledReply]) -> list[Measure]:
    lacking = [one for one in found if not one.case["enough"]]
    return [
        share("hits suffice: no question", [one.reply == "" for one in found if one.case["enough"]]),
        share("hits lack something: asks about the name", [_contains_any(one) for one in lacking]),
    ]


def _contains_any(one: LabelledReply) -> bool:
    return any(name.casefold() in (one.reply or "").casefold() for name in one.case["names"])


def _importance(found: Sequence[LabelledReply]) -> list[Measure]:
    rated = [one.reply or (0, 1) for one in found]  # an unusable reply is neither right nor a tie
    return [
        share("more important one rated higher", [more > less for more, less in rated]),
        share("rated the same", [more == less for more, less in rated]),
    ]


def _rankings(found: Sequence[LabelledReply]) -> list[Measure]:
    before = [one.case["relevant"] for one in found]
    return [
        share("evidence among the hits", [any(labels) for labels in before]),
        *_ranks("before", before),
        *_ranks("after", [_reordered(one) for one in found]),
        share("all hits scored the same", [len(set(one.reply or ())) == 1 for one in found]),
    ]


def _reordered(one: LabelledReply) -> list[bool]:
    """Return the labels of the hits in their new order; none if the reply is unusable."""
    scores = one.reply or []
    return [one.case["relevant"][i] for i in sorted(range(len(scores)), key=lambda i: -scores[i])]


def _ranks(name: str, rankings: Sequence[Sequence[bool]]) -> list[Measure]:
    reciprocal = [1 / (1 + labels.index(True)) if True in labels else 0.0 for labels in rankings]
    return [
        *(share(f"{name}: evidence hit@{k}", [any(labels[:k]) for labels in rankings]) for k in (1, 3)),
        average(f"{name}: MRR", {str(i): [value] for i, value in enumerate(reciprocal)}),
    ]


def _selections(found: Sequence[LabelledReply]) -> list[Measure]:
    pairs = [
        pair
        for one in found
        for pair in zip(one.reply or [False] * len(one.case["relevant"]), one.case["relevant"], strict=True)
    ]
    return [
        share("precision", [relevant for chosen, relevant in pairs if chosen]),
        share("recall", [chosen for chosen, relevant in pairs if relevant]),
        share("precision if all hits are selected", [relevant for _, relevant in pairs]),
    ]


TASKS: Mapping[str, LabelledTask] = {
    "operations": LabelledTask(_operate, _operations),
    "adjudications": LabelledTask(_adjudicate, _adjudications),
    "refinements": LabelledTask(_refine, _refinements),
    "importance": LabelledTask(_rate, _importance),
    "summaries": LabelledTask(_summarize, summary_measures),
    "rerank": LabelledTask(_rerank, _rankings),
    "select": LabelledTask(_select, _selections),
}
