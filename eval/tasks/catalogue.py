"""All benchmarks by the `kind` of their section."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eval.contract import Task
from eval.tasks.babilong import Babilong
from eval.tasks.beam import Beam
from eval.tasks.locomo import Locomo
from eval.tasks.multihop import Multihop
from eval.tasks.odsum import Odsum
from eval.tasks.qmsum import Qmsum
from eval.tasks.updates import Updates
from nscma_torch.errors import ConfigError

KINDS: Mapping[str, Callable[[Mapping[str, Any], Path], Task]] = MappingProxyType(
    {
        "babilong": Babilong,
        "beam": Beam,
        "locomo": Locomo,
        "multihop": Multihop,
        "odsum": Odsum,
        "qmsum": Qmsum,
        "updates": Updates,
    }
)


def make_task(section: Mapping[str, Any], data: Path) -> Task:
    """The task of a section of the configuration, on the data in a folder.

    Raises `ConfigError` for an unknown kind or key, a bad value, or data that are not there.
    """
    kind = str(section.get("kind", ""))
    if kind not in KINDS:
        (near,) = difflib.get_close_matches(kind, KINDS, n=1, cutoff=0.0)
        raise ConfigError(f"unknown kind of task {kind!r}; did you mean {near!r}? known are {', '.join(sorted(KINDS))}")
    try:
        return KINDS[kind](section, data)
    except (OSError, json.JSONDecodeError) as error:
        raise ConfigError(f"task {section.get('name', kind)!r}: {error}; put its files there as published") from error
