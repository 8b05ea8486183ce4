"""Question-answer pairs found by a language model in a sitting, with one or more requests."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.records import QAPair, Unit
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.grounding import names_held
from nscma_torch.llm.prompts.question_pairs import MOST_SHOWN, pairs_form
from nscma_torch.llm.prompts.question_pairs import question_pairs as prompt
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.text.calendar.timestamps import format_day


def question_pairs(asker: ModelCaller, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
    """Return the pairs found in each group. A large group is sent to the model in parts.

    A pair is dropped and counted as ungrounded if its question contains a name or number that its part of the group
    lacks. Answers are checked by the filter, like the answers from other miners.
    """
    packs = [
        (number, pack)
        for number, group in enumerate(groups)
        for pack in asker.packed(list(enumerate(group)), lambda some: prompt([u for _, u in some]), most=MOST_SHOWN)
    ]
    asked = [prompt([unit for _, unit in pack]) for _, pack in packs]
    forms = asker.ask_sized([len(pack) for _, pack in packs], asked, pairs_form)
    found: list[list[QAPair]] = [[] for _ in groups]
    for (number, pack), form in zip(packs, forms, strict=True):
        said = _said([unit for _, unit in pack])
        for pair in form.pairs:
            if not names_held(pair.question, *said):
                asker.count("ungrounded")
                continue
            cited = tuple(sorted({pack[one - 1][0] for one in pair.evidence}))
            found[number].append(QAPair(pair.question, pair.answer, cited, pair.question))
    return found


def _said(units: Sequence[Unit]) -> list[str]:
    texts = [part for unit in units for part in (resolved(unit.text, unit.occurred_at), unit.name or unit.role)]
    return texts + [format_day(unit.occurred_at.date()) for unit in units]
