"""The Triton kernel of `knn_graph`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tests.kernels.agreement.knn_graph import LARGE, SHAPES, agree, check
from tests.kernels.triton_parts import run

pytest.importorskip("triton")


def test_equals_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(4 * len(SHAPES) + 3)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_equals_torch_on_a_gpu(shape: tuple[int, int, int]) -> None:
    assert agree([shape], "cuda") == 4


def interpret() -> None:
    """Exact equality on integers and on real vectors; rows that outnumber the candidates held; several blocks."""
    from nscma_kernels.triton import knn_graph as kernel

    count = agree(SHAPES, "cpu")
    check(torch.ones(300, 4), 2)
    check(torch.randn(260, 33, generator=torch.Generator().manual_seed(0)), 4)
    kernel.MAXIMA = 9 * 100
    check(torch.randn(270, 20, generator=torch.Generator().manual_seed(1)), 4)
    print("equal", count + 3)


def compile_all() -> None:
    """Ahead of time, for every generation and every constant."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from nscma_kernels.triton import knn_graph as kernel

    pointers = ["*bf16"] * 2 + ["*i64"] * 6 + ["*fp32"] * 2 + ["*i32"] * 2
    types = [*pointers, *["i32"] * 5, "i64", "fp32", "fp32"]
    names = kernel.tile_kernel.arg_names
    signature = dict(zip(names, types + ["constexpr"] * (len(names) - len(types)), strict=True))
    sizes = {"block_m": kernel.BM, "block_n": kernel.BN, "block_k": kernel.BK, "group": kernel.GROUP}
    for capability in (80, 89, 90):
        for band, emit in ((True, False), (False, True)):
            source = ASTSource(
                fn=kernel.tile_kernel, signature=signature, constexprs={"band": band, "emit": emit, **sizes}
            )
            target = GPUTarget("cuda", capability, 32)
            built = triton.compile(source, target=target, options={"num_warps": 8, "num_stages": 3})
            assert f"sm_{capability}" in built.asm["ptx"]
            assert len(built.asm["cubin"]) > 0
        print(capability)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
    interpret() if sys.argv[1] == "interpret" else compile_all()
