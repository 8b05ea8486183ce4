# nscma_torch/curator/derived/promise.py
"""Promises that were made on each day."""

from __future__ import annotations

from functools import partial

from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, MessageDeriver
from nscma_torch.curator.derived.groups import by_day


def deriver(needs: DeriverContext) -> Deriver:
    """Derive the promises of each day, once it is over."""
    days = partial(by_day, roles=("user", "assistant"))
    return MessageDeriver("promise", days, needs.line_task("promise"))
