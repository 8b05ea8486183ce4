"""Structured records written by a language model, with closed choices and only entities that occur in the message."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.records import Description, Unit
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.grounding import holds
from nscma_torch.llm.prompts.descriptions import DescriptionForm, SettlingForm, description, description_form
from nscma_torch.text.names import name_key


def descriptions(
    asker: ModelCaller, units: Sequence[Unit], listeners: Sequence[str], before: Sequence[Sequence[Unit]]
) -> list[Description]:
    """Describe each unit. An entity that doesn't occur in the unit's text is dropped and counted as ungrounded."""
    asked = [description(*one) for one in zip(units, before, listeners, strict=True)]
    forms = asker.ask_sized([len(own) for own in before], asked, description_form)
    found = []
    for unit, listener, form in zip(units, listeners, forms, strict=True):
        held = [name for name in form.entities if holds(name, unit.text)]
        asker.count("ungrounded", len(form.entities) - len(held))
        found.append(_description(form, held, {name_key(unit.name or unit.role), name_key(listener)}))
    return found


def _description(form: DescriptionForm, entities: Sequence[str], talking: set[str]) -> Description:
    settles = form.settles if isinstance(form, SettlingForm) else ()
    return Description(
        form.type,
        tuple(name for name in entities if name_key(name) not in talking),
        form.sentiment,
        form.settled,
        tuple(sorted({number - 1 for number in settles})),
    )
