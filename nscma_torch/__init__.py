"""NSCMA: long-term memory for local language models, in PyTorch. Names are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nscma_kernels import (
        PersonaGraph,
        ego_split,
        knn_graph,
        label_propagation,
        personalized_pagerank,
        update_split,
    )
    from nscma_torch.api.async_memory import AsyncMemory
    from nscma_torch.api.memory import Memory
    from nscma_torch.controller.controller import Controller
    from nscma_torch.controller.learning import Learnt
    from nscma_torch.controller.trace import ControllerAnswer
    from nscma_torch.core.config import Config, load_config
    from nscma_torch.core.errors import NscmaError
    from nscma_torch.core.records import (
        Added,
        Answer,
        CuratorDecision,
        Decision,
        Episode,
        EraseReceipt,
        Evidence,
        Extraction,
        Fact,
        HistoryEvent,
        Hit,
        MemoryRecord,
        Message,
        Node,
        ProfileLine,
        Scope,
        SleepReport,
        Statement,
        Stats,
        Unit,
        WorkerHealth,
    )
    from nscma_torch.core.skill import Skill
    from nscma_torch.curator.store.derived_texts import DerivedText
    from nscma_torch.episodic.log.sessions import Session
    from nscma_torch.ingest.replay import Redecision
    from nscma_torch.integrations.pyg import EgoSplit, LabelPropagation
    from nscma_torch.neural import (
        AttachedMemory,
        NeuralMemory,
        NeuralMemoryState,
        Recalled,
        RetrievalMemory,
        attach_memory,
    )
    from nscma_torch.reading.relations import Relation, Schema, load_relations
    from nscma_torch.surprise import Gating, SurpriseGate, SurpriseGateState

__version__ = "0.1.0"

_HOME = {
    "AsyncMemory": "nscma_torch.api.async_memory",
    "Config": "nscma_torch.core.config",
    "load_config": "nscma_torch.core.config",
    "Controller": "nscma_torch.controller.controller",
    "ControllerAnswer": "nscma_torch.controller.trace",
    "Learnt": "nscma_torch.controller.learning",
    "NscmaError": "nscma_torch.core.errors",
    **dict.fromkeys(("EgoSplit", "LabelPropagation"), "nscma_torch.integrations.pyg"),
    "Redecision": "nscma_torch.ingest.replay",
    "Memory": "nscma_torch.api.memory",
    **dict.fromkeys(("Gating", "SurpriseGate", "SurpriseGateState"), "nscma_torch.surprise"),
    **dict.fromkeys(
        ("AttachedMemory", "NeuralMemory", "NeuralMemoryState", "Recalled", "RetrievalMemory", "attach_memory"),
        "nscma_torch.neural",
    ),
    **dict.fromkeys(
        (
            *("Added", "Answer", "CuratorDecision", "Decision", "Episode", "EraseReceipt", "Evidence", "Extraction"),
            *("Fact", "Hit", "HistoryEvent", "Message", "Node", "Scope", "SleepReport", "Statement", "Stats", "Unit"),
            *("MemoryRecord", "ProfileLine", "WorkerHealth"),
        ),
        "nscma_torch.core.records",
    ),
    **dict.fromkeys(("Relation", "Schema", "load_relations"), "nscma_torch.reading.relations"),
    "DerivedText": "nscma_torch.curator.store.derived_texts",
    "Session": "nscma_torch.episodic.log.sessions",
    "Skill": "nscma_torch.core.skill",
    **dict.fromkeys(
        ("PersonaGraph", "ego_split", "knn_graph", "label_propagation", "personalized_pagerank", "update_split"),
        "nscma_kernels",
    ),
}

__all__ = [
    "Added",
    "Answer",
    "AsyncMemory",
    "AttachedMemory",
    "Config",
    "Controller",
    "ControllerAnswer",
    "CuratorDecision",
    "Decision",
    "DerivedText",
    "EgoSplit",
    "Episode",
    "EraseReceipt",
    "Evidence",
    "Extraction",
    "Fact",
    "Gating",
    "HistoryEvent",
    "Hit",
    "LabelPropagation",
    "Learnt",
    "Memory",
    "MemoryRecord",
    "Message",
    "NeuralMemory",
    "NeuralMemoryState",
    "Node",
    "NscmaError",
    "PersonaGraph",
    "ProfileLine",
    "Recalled",
    "Redecision",
    "Relation",
    "RetrievalMemory",
    "Schema",
    "Scope",
    "Session",
    "Skill",
    "SleepReport",
    "Statement",
    "Stats",
    "SurpriseGate",
    "SurpriseGateState",
    "Unit",
    "WorkerHealth",
    "__version__",
    "attach_memory",
    "ego_split",
    "knn_graph",
    "label_propagation",
    "load_config",
    "load_relations",
    "personalized_pagerank",
    "update_split",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nscma_torch' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
