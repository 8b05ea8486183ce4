"""A summary of all days, derived from each day's summary (MemoryBank, according to the notes)."""

from __future__ import annotations

from nscma_torch.curator.derived.all_days import AllDaysDeriver
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext


def deriver(needs: DeriverContext) -> Deriver:
    """Derive one summary of at most `daily.global_words` words."""
    return AllDaysDeriver(
        "global_summary", "daily_summary", needs.line_task("global_summary", needs.config.daily.global_words)
    )
