"""What MemoryBank writes of the days of a conversation (Zhong et al. 2023, section on memory storage).

Hierarchical event summary: each day's conversation is summed up, and the days are, into a global summary. Dynamic
personality understanding: each day shows something of a user's personality and mood, and the days make up a portrait.
The language tasks are the product's. What has no time belongs to no day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime

from eval.harness.contract import Passage
from eval.systems.language import Language, units_of
from eval.systems.text_nodes import TextNode, as_unit, leaves_below
from nscma_torch.core.records import SourcedLine, Unit, UnitKind


def day_of(time: datetime | None) -> date | None:
    """The day of UTC."""
    return None if time is None else time.astimezone(UTC).date()


class Days:
    """Writes about the days of some passages."""

    def __init__(self, language: Language, passages: Sequence[Passage]) -> None:
        self._tasks = language.tasks
        self._passages = passages
        self._units = units_of(passages)

    def events(self, words: int) -> list[list[TextNode]]:
        """The lines of each day's summary, which have so many words together."""
        days: dict[date, list[int]] = {}
        for row, passage in enumerate(self._passages):
            if (day := day_of(passage.message.timestamp)) is not None:
                days.setdefault(day, []).append(row)
        found = self._tasks.lines("daily_summary", self._groups(days.values()), words) if days else []
        return [_sourced(lines, _own(rows)) for lines, rows in zip(found, days.values(), strict=True)]

    def history(self, events: Sequence[Sequence[TextNode]], words: int) -> TextNode | None:
        """The global summary of the days."""
        lines = [line for own in events for line in own]
        if not lines:
            return None
        (told,) = self._tasks.lines("global_summary", [self._as_units(lines, "daily_summary")], words)
        return joined(_sourced(told, lines))

    def portraits(self, words: int) -> list[TextNode]:
        """The portrait of each user of whom days show something."""
        days: dict[tuple[date, str | None], list[int]] = {}
        for row, passage in enumerate(self._passages):
            day = day_of(passage.message.timestamp)
            if day is not None and passage.message.role == "user":
                days.setdefault((day, passage.message.name), []).append(row)
        shown = self._tasks.lines("daily_insight", self._groups(days.values())) if days else []
        people: dict[str | None, list[TextNode]] = {}
        for ((_, name), rows), lines in zip(days.items(), shown, strict=True):
            people.setdefault(name, []).extend(_sourced(lines, _own(rows)))
        insights = [own for own in people.values() if own]
        groups = [self._as_units(own, "daily_insight") for own in insights]
        told = self._tasks.lines("portrait", groups, words) if groups else []
        found = [joined(_sourced(lines, own)) for lines, own in zip(told, insights, strict=True)]
        return [node for node in found if node is not None]

    def _groups(self, days: Iterable[Sequence[int]]) -> list[list[Unit]]:
        return [[self._units[row] for row in rows] for rows in days]

    def _as_units(self, nodes: Sequence[TextNode], kind: UnitKind) -> list[Unit]:
        return [as_unit(node, self._passages, kind) for node in nodes]


def joined(lines: Sequence[TextNode]) -> TextNode | None:
    """Lines as one text; None for none."""
    return TextNode("\n".join(line.text for line in lines), leaves_below(lines), written=True) if lines else None


def _own(rows: Sequence[int]) -> list[TextNode]:
    return [TextNode("", (row,)) for row in rows]


def _sourced(lines: Sequence[SourcedLine], nodes: Sequence[TextNode]) -> list[TextNode]:
    """Lines on some nodes, with the rows of those that they cite."""
    return [
        TextNode(line.text, leaves_below([nodes[source] for source in line.sources]), written=True) for line in lines
    ]
