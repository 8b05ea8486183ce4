"""How well `Memory.ask` answers LoCoMo's questions, by category.

    python -m eval.experiments.reading.locomo_answers --data DIR [--half odd|even|all] [--config FILE] [--samples N]
        [--limit N] [--json FILE]

*F1* is LoCoMo's (`locomo_f1`), of `Answer.short`; 0 if it abstains. *evidence shown* is no score of answers: the share
of the texts in which the words of the gold answer stand in a row, quoted evidence included, whatever case, articles and
punctuation. Category 5 cannot be answered.

Intervals are of 95 %: Wilson's of shares, of F1 a bootstrap over questions; they hold for these conversations.
Even-indexed conversations are for tuning; claims quote the odd ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from eval.experiments.reading.asked_tasks import Asked, ask_task, parsed, told
from eval.metrics.answer_metrics import locomo_f1, normalized
from eval.reporting.measures import Measure, average, measure_table, share
from eval.tasks.locomo import Locomo
from nscma_torch.demo.short_answers import says

CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop"}


def measures(found: Sequence[Asked]) -> list[Measure]:
    """Of each category and of all that can be answered: F1, evidence shown, and abstained."""
    answerable = [one for one in found if one.question.answers]
    adversarial = [one for one in found if not one.question.answers]
    rows = {f"{n} {name}": [a for a in answerable if a.question.category == n] for n, name in CATEGORIES.items()}
    rows["1-4"] = answerable
    rows = {name: own for name, own in rows.items() if own}
    return [
        *(average(f"F1, {name}", {"": [_f1(one) for one in own]}) for name, own in rows.items()),
        *(share(f"evidence shown, {name}", [_evidence_shown(one) for one in own]) for name, own in rows.items()),
        *(
            share(f"abstained, {name}", [one.answer.abstained for one in own])
            for name, own in (*rows.items(), ("5 adversarial", adversarial))
        ),
    ]


def _f1(asked: Asked) -> float:
    (gold,) = asked.question.answers
    return locomo_f1(asked.short, gold, int(asked.question.category))


def _evidence_shown(asked: Asked) -> bool:
    (gold,) = asked.question.answers
    return says(normalized(asked.with_evidence), normalized(gold))


def main() -> None:
    """Print a table."""
    arguments = parsed(__doc__)
    found = ask_task(Locomo({}, arguments.data), arguments)
    console = Console(width=120)
    console.print(measure_table(f"LoCoMo, conversations of {arguments.half} index", measures(found)))
    console.print(told(found))


if __name__ == "__main__":
    main()
