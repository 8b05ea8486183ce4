"""A portrait of each person, derived from each day's insights (MemoryBank, according to the notes)."""

from __future__ import annotations

from nscma_torch.curator.derived.all_days import AllDaysDeriver
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext


def deriver(needs: DeriverContext) -> Deriver:
    """Derive portraits of at most `daily.global_words` words."""
    return AllDaysDeriver("portrait", "daily_insight", needs.line_task("portrait", needs.config.daily.global_words))
