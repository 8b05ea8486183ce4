"""A portrait of each person, derived from each day's insights (MemoryBank, according to the notes)."""

from __future__ import annotations

from nscma_torch.curator.derived.days import OverDays
from nscma_torch.curator.derived.deriver import Deriver, Needs


def deriver(needs: Needs) -> Deriver:
    """Derive portraits of at most `daily.global_words` words."""
    return OverDays("portrait", "daily_insight", needs.line_task("portrait", needs.config.daily.global_words))
