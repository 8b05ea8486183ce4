"""Select the turns before a message as in the reader's training. Imports no torch."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nscma_torch.core.records import Unit

TURNS_BEFORE = 2  # of the same day that are read with a message as its context


def turns_before(unit: Unit, before: Sequence[Unit]) -> list[Unit]:
    """Return the last turns before a message that are from the same day, without summaries."""
    turns = [one for one in before if one.kind != "summary"][-TURNS_BEFORE:]
    return [one for one in turns if one.occurred_at.date() == unit.occurred_at.date()]


def messages_before(context: str) -> int:
    """Return how many earlier messages a message is read with, given `facts.context`; for "summary", all of them."""
    return sys.maxsize if context == "summary" else TURNS_BEFORE
