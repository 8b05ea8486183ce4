"""The Triton kernels of label propagation: equal to torch's in the interpreter, and compiled for three architectures.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tests.kernels.agreement.label_propagation import LARGE, SHAPES, agree, agree_on_special_graphs
from tests.kernels.triton_parts import run

pytest.importorskip("triton")


def test_equals_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(2 * len(SHAPES) + 8)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_equals_torch_on_a_gpu() -> None:
    assert agree([*SHAPES, *LARGE], "cuda") + agree_on_special_graphs("cuda") == 2 * (len(SHAPES) + len(LARGE)) + 8


def interpret() -> None:
    """Exact equality."""
    print("equal", agree(SHAPES, "cpu") + agree_on_special_graphs("cpu"))


def compile_all() -> None:
    """Ahead of time, for every generation; narrow, middling and wide tiles."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

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
    for architecture in (80, 89, 90):
        for kernel, signature, shape in sources:
            signature = {name: "constexpr" if name in shape else signature[name] for name in kernel.arg_names}
            source = ASTSource(fn=kernel, signature=signature, constexprs=shape)
            binary = triton.compile(source, target=GPUTarget("cuda", architecture, 32))
            assert f".target sm_{architecture}" in binary.asm["ptx"] and len(binary.asm["cubin"]) > 1000
        print(architecture)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
    interpret() if sys.argv[1] == "interpret" else compile_all()
