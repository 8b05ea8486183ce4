"""The Triton kernel of `memory_scan`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tests.kernels.agreement.memory_scan import LARGE, SHAPES, agree
from tests.kernels.triton_parts import run

pytest.importorskip("triton")


def test_no_more_error_than_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(2 * len(SHAPES))]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_no_more_error_than_torch_on_a_gpu(shape: tuple[int, int, int, int]) -> None:
    assert agree([shape], "cuda") == 2


def interpret() -> None:
    print("equal", agree(SHAPES, "cpu"))


def compile_all() -> None:
    """Ahead of time, for every generation, with and without a mask."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from nscma_kernels.triton import memory_scan as kernel

    types = ["*fp32"] * 7 + ["i32"] * 10
    names = kernel.advance_kernel.arg_names
    signature = dict(zip(names, types + ["constexpr"] * (len(names) - len(types)), strict=True))
    for capability in (80, 89, 90):
        for masked in (False, True):
            constants = {"masked": masked, "block_i": kernel.BI, "block_j": kernel.BJ, "block_c": kernel.BC}
            source = ASTSource(fn=kernel.advance_kernel, signature=signature, constexprs=constants)
            options = {"num_warps": kernel.WARPS}
            built = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
            assert f"sm_{capability}" in built.asm["ptx"]
            assert "mma" in built.asm["ptx"]  # on the matrix units
            assert len(built.asm["cubin"]) > 0
            assert built.metadata.shared <= 99 * 1024, built.metadata.shared  # of sm_89
        print(capability)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
    interpret() if sys.argv[1] == "interpret" else compile_all()
