"""The Triton kernels of label propagation: equal to torch's in the interpreter, and compiled for three architectures.

`test_triton.py` runs `interpret` and `compile_all`.
"""

from __future__ import annotations

import pytest
import torch

from tests.kernels.agreement.label_propagation import LARGE, SHAPES, agree, agree_on_special_graphs
from tests.kernels.triton_parts import GENERATIONS, check_compiled

pytest.importorskip("triton")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_equals_torch_on_a_gpu() -> None:
    assert agree([*SHAPES, *LARGE], "cuda") + agree_on_special_graphs("cuda") == 2 * (len(SHAPES) + len(LARGE)) + 8


def interpret() -> int:
    """Exact equality."""
    return agree(SHAPES, "cpu") + agree_on_special_graphs("cpu")


def compile_all() -> None:
    """Ahead of time, for every generation; narrow, middling and wide tiles."""
    from nscma_kernels.triton import label_propagation as kernels

    first_size = {"first": "i32", "size": "i32"}
    arrays = {"neighbours_ptr": "*i32", "state_ptr": "*i32", "want_ptr": "*i32", "rank_ptr": "*i64"}
    near = {"neighbours_ptr": "*i32", "state_ptr": "*i32", **first_size, "wide": "i32"}
    gate = {**near, "want_ptr": "*i32", "rank_ptr": "*i64", "after_ptr": "*i32", "again_ptr": "*i8"}
    mark = {**near, "after_ptr": "*i32", "again_ptr": "*i8"}
    desire = {**arrays, **first_size, "n": "i32", "salt": "i64", "hashes_ptr": "*i64", "look_ptr": "*i8"}
    sources = [(kernels.gate_kernel, gate, {"places": 16, "nodes": 64})]
    sources.append((kernels.mark_kernel, mark, {"places": 128, "nodes": 8}))
    for wide, places, weight in ((4, 4, "*i32"), (20, 32, "*i64"), (128, 128, "*i32")):
        shape = {"wide": wide, "places": places, "nodes": max(1, 4096 // places**2), "weighted": places > 4}
        sources.append((kernels.desire_kernel, {**desire, "weight_ptr": weight}, shape))
    for generation in GENERATIONS:
        for kernel, signature, shape in sources:
            types = [signature[name] for name in kernel.arg_names if name not in shape]
            check_compiled(kernel, types, shape, generation)
