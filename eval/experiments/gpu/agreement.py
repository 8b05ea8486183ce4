"""The Triton kernels against plain torch on the device, with the shapes and the checks of `tests/kernels`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import torch

from eval.experiments.gpu.part import Measure, Row

OPERATIONS = ("ego_split", "knn_graph", "label_propagation", "memory_scan", "scored_topk", "token_nll")


def agreement(operation: str) -> Callable[[], Measure]:
    """Imports what compares the two implementations of an operation."""

    def load() -> Measure:
        checks = importlib.import_module(f"tests.kernels.agreement.{operation}")

        def measure(device: torch.device, quick: bool) -> Iterator[Row]:
            shapes = checks.SHAPES[:2] if quick else [*checks.SHAPES, *checks.LARGE]
            for shape in shapes:  # one after another, so that what agreed before a failure is reported
                count = checks.agree([shape], str(device))
                yield Row("Triton against torch", str(shape), "as the test's", {"comparisons": count})
            if not quick and hasattr(checks, "agree_on_special_graphs"):
                count = checks.agree_on_special_graphs(str(device))
                yield Row("Triton against torch", "special graphs", "as the test's", {"comparisons": count})

        return measure

    return load
