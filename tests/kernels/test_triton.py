"""All Triton kernels: equal to plain torch in the interpreter, and compiled without a GPU."""

from __future__ import annotations

import pytest

from tests.kernels.agreement import ego_split, knn_graph, label_propagation, memory_scan, scored_topk, token_nll
from tests.kernels.triton_parts import KERNELS, run

pytest.importorskip("triton")


def test_agree_with_torch_in_the_interpreter() -> None:
    """Each counts its comparisons."""
    assert run("interpret") == {
        "ego_split": str(2 * len(ego_split.SHAPES) + 3),
        "knn_graph": str(4 * len(knn_graph.SHAPES) + 3),
        "label_propagation": str(2 * len(label_propagation.SHAPES) + 8),
        "memory_scan": str(2 * len(memory_scan.SHAPES)),
        "scored_topk": str(2 * len(scored_topk.SHAPES) + 5),
        "token_nll": str(3 * len(token_nll.SHAPES) + 3),
    }


def test_compile_for_three_generations() -> None:
    assert run("compile_all") == dict.fromkeys(KERNELS, "None")
