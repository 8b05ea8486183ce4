"""Limit a forked child to one thread.

The threads in torch's OpenMP pool don't exist in a forked child, so its first parallel loop would wait for them forever
(https://github.com/pytorch/pytorch/issues/17199). With one thread no loop uses the pool.
"""

from __future__ import annotations

import os
import sys


def _compute_with_one_thread() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_compute_with_one_thread)
