"""The turns before a message with which the reader was trained to read it. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.records import Unit

TURNS_BEFORE = 2  # of the same day that are read with a message as its context


def turns_before(unit: Unit, before: Sequence[Unit]) -> list[Unit]:
    """The last turns of those before a message, of the same day; summaries are none."""
    turns = [one for one in before if one.kind != "summary"][-TURNS_BEFORE:]
    return [one for one in turns if one.occurred_at.date() == unit.occurred_at.date()]
