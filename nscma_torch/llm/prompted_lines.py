"""Lines that a language model writes from stored texts, checked against the texts that they cite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nscma_torch.core.errors import EngineRefusedError
from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.grounding import names_held
from nscma_torch.llm.prompts import sourced_lines as prompts
from nscma_torch.llm.prompts.sourced_lines import MOST_SHOWN, LineForm, LinesTask
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.text.calendar.timestamps import format_day

_CONFIDENCES = {"high": 0.9, "medium": 0.6, "low": 0.3}
_Item = tuple[Unit, tuple[int, ...]]  # a text with the places in its group that it stands for


def lines(
    asker: ModelCaller, task: LinesTask, groups: Sequence[Sequence[Unit]], *, words: int | None = None
) -> list[list[SourcedLine]]:
    """Return the lines about each group. A large group is sent to the model in parts.

    Lines that cite too few texts for the task, or contain a name or number that the cited texts lack, are dropped and
    counted as ungrounded.
    """
    return [own for own, _ in _on_parts(asker, task, [_items(group) for group in groups], words)]


def joint_lines(
    asker: ModelCaller, task: LinesTask, groups: Sequence[Sequence[Unit]], *, words: int
) -> list[list[SourcedLine]]:
    """Return lines about each group as a whole. For a large group, the lines about its parts are sent to the model
    again.

    Raises `EngineRefusedError` if this doesn't shorten a group.
    """
    items = {number: _items(group) for number, group in enumerate(groups)}
    found: dict[int, list[SourcedLine]] = {}
    while items:
        written = _on_parts(asker, task, list(items.values()), words)
        for (number, before), (own, parts) in zip(list(items.items()), written, strict=True):
            if parts <= 1:
                found[number] = own
                del items[number]
            elif len(own) >= len(before):
                raise EngineRefusedError(f"summarizing {len(before)} texts in parts left {len(own)}; raise llm.context")
            else:
                texts = {place: unit for unit, places in before for place in places}
                items[number] = [(replace(texts[line.sources[-1]], text=line.text), line.sources) for line in own]
    return [found[number] for number in range(len(groups))]


def questions(asker: ModelCaller, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
    """Return the questions raised by each group's memories. If not all memories fit in a prompt, the newest
    are shown.
    """
    fitting = [
        asker.packed(group[::-1], lambda some: prompts.salient_questions(some, most))[0][::-1] for group in groups
    ]
    asked = [prompts.salient_questions(group, most) for group in fitting]
    forms, _ = asker.ask(prompts.salient_questions_form(most), asked)
    return [list(dict.fromkeys(form.questions)) for form in forms]


def reflections(asker: ModelCaller, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:
    """Derive reflections on each question from its memories. If not all memories fit in a prompt, the best
    are shown.
    """
    task = replace(prompts.REFLECTION, most=most)
    shown = []
    for question, group in asked:
        packs = asker.packed(_items(group), lambda some, own=question: _turns(task, some, question=own))  # type: ignore[misc]
        shown.append((question, packs[0] if packs else []))
    put = [(question, pack) for question, pack in shown if pack]
    forms = asker.ask_sized(
        [len(pack) for _, pack in put],
        [_turns(task, pack, question=question) for question, pack in put],
        lambda texts: prompts.lines_form(texts, most),
    )
    written = iter([_grounded(asker, task, pack, form.lines) for (_, pack), form in zip(put, forms, strict=True)])
    return [next(written) if pack else [] for _, pack in shown]


def _items(group: Sequence[Unit]) -> list[_Item]:
    return [(unit, (place,)) for place, unit in enumerate(group)]


def _turns(task: LinesTask, items: Sequence[_Item], *, words: int | None = None, question: str = "") -> Turns:
    return prompts.sourced_lines(task, [unit for unit, _ in items], words=words, question=question)


def _on_parts(
    asker: ModelCaller, task: LinesTask, groups: Sequence[Sequence[_Item]], words: int | None
) -> list[tuple[list[SourcedLine], int]]:
    """Return the lines about each group, from one batch, and the number of parts sent to the model."""
    packed = [asker.packed(group, lambda some: _turns(task, some, words=words), most=MOST_SHOWN) for group in groups]
    packs = [pack for own in packed for pack in own]
    asked = [_turns(task, pack, words=words) for pack in packs]
    forms = asker.ask_sized([len(pack) for pack in packs], asked, lambda texts: prompts.lines_form(texts, task.most))
    written = iter([_grounded(asker, task, pack, form.lines) for pack, form in zip(packs, forms, strict=True)])
    return [([line for _ in own for line in next(written)], len(own)) for own in packed]


def _grounded(
    asker: ModelCaller, task: LinesTask, pack: Sequence[_Item], written: Sequence[LineForm]
) -> list[SourcedLine]:
    """Return the lines that are supported by their evidence, with the positions of the evidence in the group."""
    found = []
    for line in written:
        cited = [pack[number - 1] for number in sorted(set(line.evidence))]
        if len(cited) < task.least or not _borne_out(line.text, [unit for unit, _ in cited]):
            asker.count("ungrounded")
            continue
        places = sorted({place for _, own in cited for place in own})
        found.append(SourcedLine(line.text, tuple(places), _CONFIDENCES[line.confidence]))
    return found


def _borne_out(text: str, units: Sequence[Unit]) -> bool:
    return names_held(text, *evidence_texts(units))


def evidence_texts(units: Sequence[Unit]) -> list[str]:
    """Return what the units say, with their relative dates resolved, and their authors and days."""
    said = [part for unit in units for part in (resolved(unit.text, unit.occurred_at), unit.name or unit.role)]
    return [*said, *(format_day(unit.occurred_at.date()) for unit in units)]
