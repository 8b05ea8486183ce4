"""Insights by a language model: what it concludes from alike messages, held against those that it names."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.llm.completion import Asker
from nscma_torch.llm.grounding import names_held
from nscma_torch.llm.prompts.insights import MOST_SHOWN, InsightForm, insights_form
from nscma_torch.llm.prompts.insights import insights as prompt
from nscma_torch.reading.embedded_tasks import resolved
from nscma_torch.records import SourcedLine, Unit
from nscma_torch.text.timestamps import format_day

_CONFIDENCES = {"high": 0.9, "medium": 0.6, "low": 0.3}


def insights(asker: Asker, groups: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
    """The insights of each group, which is put to the model in parts where it is large.

    Dropped, and counted as ungrounded, is one with fewer than two messages, or a name or number that they lack.
    """
    packs = [
        (number, pack)
        for number, group in enumerate(groups)
        for pack in asker.packed(list(enumerate(group)), lambda some: prompt([u for _, u in some]), most=MOST_SHOWN)
    ]
    asked = [prompt([unit for _, unit in pack]) for _, pack in packs]
    forms = asker.ask_sized([len(pack) for _, pack in packs], asked, insights_form)
    found: list[list[SourcedLine]] = [[] for _ in groups]
    for (number, pack), form in zip(packs, forms, strict=True):
        for insight in form.insights:
            cited = dict(sorted((pack[one - 1] for one in insight.evidence), key=lambda pair: pair[0]))
            if len(cited) < 2 or not _borne_out(insight, list(cited.values())):
                asker.count("ungrounded")
                continue
            found[number].append(SourcedLine(insight.text, tuple(cited), _CONFIDENCES[insight.confidence]))
    return found


def _borne_out(insight: InsightForm, units: Sequence[Unit]) -> bool:
    said = [part for unit in units for part in (resolved(unit.text, unit.occurred_at), unit.name or unit.role)]
    return names_held(insight.text, *said, *(format_day(unit.occurred_at.date()) for unit in units))
