"""Format an answer with its evidence for display: the answer, its confidence, and numbered quotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nscma_torch.cli.ids import short_id
from nscma_torch.cli.output import one_line, plain
from nscma_torch.text.calendar.timestamps import format_day

if TYPE_CHECKING:
    from nscma_torch.core.records import Answer, Evidence, Hit

_AROUND = 80  # characters of a message shown before and after the words that are quoted of it


def lines_of(answer: Answer) -> Iterator[str]:
    """Yield the lines for an answer, with rich markup."""
    yield plain(answer.marked)
    if not answer.abstained:
        yield f"[dim]confidence {answer.confidence:.2f}[/]"
    for number, item in enumerate(answer.evidence, start=1):
        yield f"{number:3}. {heading(item.hit)}"
        yield f"     {_quoted(item)}"
    for note in answer.notes:
        yield f"[yellow]note:[/] {plain(note)}"


def heading(hit: Hit, day: Callable[[Hit], str] | None = None) -> str:
    """Format a hit's speaker and time; `day` formats the time (by default, the date only)."""
    from nscma_torch.core.records import OF_ONE_MESSAGE

    unit = hit.unit
    when = format_day(unit.occurred_at.date()) if day is None else day(hit)
    if unit.kind not in OF_ONE_MESSAGE and unit.episode_ids:
        return f"{unit.kind} of {len(unit.episode_ids)} messages until {when}"
    where = f" in {plain(unit.source)}" if unit.source else ""
    return f"{plain(unit.name or unit.role)}, {when}{where}  [dim]{short_id(hit.id)}[/]"


def _quoted(item: Evidence) -> str:
    """Format a quote, and highlight the words on which the answer is based."""
    text, start, end = item.hit.text, item.start, item.end
    if text[start:end] != item.text:  # it is reworded
        return f"[bold]{plain(one_line(item.text))}[/]"
    before, after = " ".join(text[:start].split()), " ".join(text[end:].split())
    before = f"{before} " if len(before) <= _AROUND else f"…{before[-_AROUND:]} "
    after = f" {after}" if len(after) <= _AROUND else f" {after[:_AROUND]}…"
    return f"{plain(before.lstrip())}[bold]{plain(' '.join(item.text.split()))}[/]{plain(after.rstrip())}"
