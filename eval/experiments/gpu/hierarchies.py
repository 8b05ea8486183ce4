"""The hierarchies of many users clustered in one call, as the worker does it, beside one by one."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from eval.experiments.gpu.part import Row
from eval.experiments.speed.gathering import changes_of, compare
from nscma_torch.config import Hierarchy
from nscma_torch.hierarchy.cam import Cam

_CHUNKS = 20  # of each hierarchy


def hierarchies(device: torch.device, quick: bool) -> Iterator[Row]:
    """All levels of the default hierarchy, without summaries; each comes out as it does alone."""
    for count in (1, 3) if quick else (1, 50):
        changes = changes_of([Cam()] * count, _CHUNKS, _CHUNKS, device)
        together, single, _ = compare(changes, Hierarchy(), device)
        values = {"one call, ms": together, "one by one, ms": single, "one by one / one call": single / together}
        yield Row("assimilate", f"{count} hierarchies of {_CHUNKS} chunks", "float32", values)
