"""A summary of each day's conversation (MemoryBank, according to the notes).

A day is a UTC day; it is processed once it is over, and again whenever its messages change.
"""

from __future__ import annotations

from functools import partial

from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, MessageDeriver
from nscma_torch.curator.derived.groups import by_day


def deriver(needs: DeriverContext) -> Deriver:
    """Derive summaries of at most `daily.words` words."""
    days = partial(by_day, roles=("user", "assistant"))
    return MessageDeriver("daily_summary", days, needs.line_task("daily_summary", needs.config.daily.words))
