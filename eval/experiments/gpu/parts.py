"""The registry: every part of the GPU check, in the order in which they run. A new one is a file and a line here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from eval.experiments.gpu import agreement, kernel_speed
from eval.experiments.gpu.part import Measure, Part


def _from(file: str) -> Callable[[], Measure]:
    """The function of a file of this folder that has its name."""
    return lambda: cast(Measure, getattr(importlib.import_module(f"eval.experiments.gpu.{file}"), file))


PARTS = (
    *(
        Part(
            f"agreement {name}",
            agreement.agreement(name),
            ("triton",),
            150,
            timed=False,
            quick=name in ("ego_split", "label_propagation"),
            interpreted=True,
        )
        for name in agreement.OPERATIONS
    ),
    Part("retrieval", _from("retrieval"), (), 60),
    Part("retrieval memory", _from("retrieval_memory"), (), 60),
    Part("hierarchies", _from("hierarchies"), ("torch_geometric", "pydantic", "sqlalchemy"), 90),
    Part("reader", _from("reader_speed"), ("transformers", "tokenizers"), 60),
    Part("four bits", _from("four_bit"), ("transformers", "accelerate", "bitsandbytes"), 90),
    Part("memory plan", _from("memory_plan"), ("transformers",), 60),
    *(
        Part(f"speed {name}", kernel_speed.kernel_speed(name), needs, 60, quick=name == "rolling_stats")
        for name, needs in kernel_speed.OPERATIONS.items()
    ),
)
