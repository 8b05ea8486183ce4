"""Conclusions about a person's personality and mood from each day's messages (MemoryBank, according to the notes)."""

from __future__ import annotations

from functools import partial

from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, MessageDeriver
from nscma_torch.curator.derived.groups import by_day


def deriver(needs: DeriverContext) -> Deriver:
    """Derive insights for each person and day."""
    days = partial(by_day, roles=("user",), apart=True)
    return MessageDeriver("daily_insight", days, needs.line_task("daily_insight"))
