"""Turn lines written by the language tasks into texts to store.

Each text records its citations, and the sources that were visible when it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

from nscma_torch.core.errors import JobError
from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.curator.store.derived_sources import Source
from nscma_torch.curator.store.derived_texts import NewText, Rows

Groups = Sequence[Sequence[Source]]  # sources of a part
LineTask = Callable[[Sequence[Sequence[Unit]]], list[list[SourcedLine]]]  # the lines of each group of units


def written(task: LineTask, parts: Sequence[Groups]) -> list[list[NewText]]:
    """Return the texts for each part from all of its groups; the task gets all groups in one batch.

    Raises `JobError` if the task doesn't answer for every group, or if `new_text` rejects a line.
    """
    groups = [group for part in parts for group in part]
    lines = iter(answered(task([[source.unit for source in group] for group in groups]) if groups else [], groups))
    return [[new_text(line, group) for group in part for line in next(lines)] for part in parts]


def answered(lines: list[list[SourcedLine]], groups: Sequence[Sequence[Source]]) -> list[list[SourcedLine]]:
    """Return the lines, one list per group. Raises `JobError` if the number of lists differs from the number of
    groups.
    """
    if len(lines) != len(groups):
        raise JobError(
            f"the language tasks were given {len(groups)} groups of texts and returned {len(lines)} results; "
            "correct them"
        )
    return lines


def new_text(line: SourcedLine, group: Sequence[Source], *, besides: Sequence[Source] = ()) -> NewText:
    """Build a storable text from a line; `besides` lists visible sources other than the group.

    Its importance is that of its most important cited source. Raises `JobError` for a line without text, source or
    confidence.
    """
    places = sorted(set(line.sources))
    if not (line.text.strip() and places and places[0] >= 0 and places[-1] < len(group) and 0 < line.confidence <= 1):
        raise JobError(
            f"the language tasks wrote a line without a text, a source among the {len(group)} texts, or a "
            f"confidence in (0, 1]: {line!r}"
        )
    cited = [group[place] for place in places]
    return NewText(
        line.text.strip(),
        line.confidence,
        reduce(or_, (source.cited for source in cited)),
        reduce(or_, (source.seen for source in (*group, *besides)), Rows(frozenset())),
        min(source.since for source in cited),
        max(source.until for source in cited),
        max(source.importance for source in cited),
    )


def first_of_each_wording(texts: Sequence[NewText]) -> list[NewText]:
    """Remove texts that have the same wording as an earlier one."""
    found: dict[str, NewText] = {}
    for text in texts:
        found.setdefault(text.text, text)
    return list(found.values())
