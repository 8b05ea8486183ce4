"""NSCMA: long-term memory for local language models, in PyTorch. Names are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nscma_torch.aio import AsyncMemory
    from nscma_torch.config import Config, load_config
    from nscma_torch.encode.replay import Redecision
    from nscma_torch.errors import NscmaError
    from nscma_torch.memory import Memory
    from nscma_torch.records import (
        Added,
        Answer,
        Decision,
        Episode,
        EraseReceipt,
        Evidence,
        HistoryEvent,
        Hit,
        Message,
        Node,
        Scope,
        Stats,
        Unit,
    )

__version__ = "0.1.0"

_HOME = {
    "AsyncMemory": "aio",
    "Config": "config",
    "load_config": "config",
    "NscmaError": "errors",
    "Redecision": "encode.replay",
    "Memory": "memory",
    **dict.fromkeys(
        (
            *("Added", "Answer", "Decision", "Episode", "EraseReceipt", "Evidence"),
            *("Hit", "HistoryEvent", "Message", "Node", "Scope", "Stats", "Unit"),
        ),
        "records",
    ),
}

__all__ = [
    "Added",
    "Answer",
    "AsyncMemory",
    "Config",
    "Decision",
    "Episode",
    "EraseReceipt",
    "Evidence",
    "HistoryEvent",
    "Hit",
    "Memory",
    "Message",
    "Node",
    "NscmaError",
    "Redecision",
    "Scope",
    "Stats",
    "Unit",
    "__version__",
    "load_config",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nscma_torch' has no attribute {name!r}")
    return getattr(importlib.import_module(f"nscma_torch.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
