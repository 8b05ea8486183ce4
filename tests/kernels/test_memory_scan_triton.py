"""The Triton kernel of `memory_scan`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

`test_triton.py` runs `interpret` and `compile_all`.
"""

from __future__ import annotations

import pytest
import torch

from tests.kernels.agreement.memory_scan import LARGE, SHAPES, agree
from tests.kernels.triton_parts import GENERATIONS, check_compiled

pytest.importorskip("triton")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_no_more_error_than_torch_on_a_gpu(shape: tuple[int, int, int, int]) -> None:
    assert agree([shape], "cuda") == 2


def interpret() -> int:
    return agree(SHAPES, "cpu")


def compile_all() -> None:
    """Ahead of time, for every generation, with and without a mask."""
    from nscma_kernels.triton import memory_scan as kernel

    types = ["*fp32"] * 7 + ["i32"] * 10
    for generation in GENERATIONS:
        for masked in (False, True):
            constants = {"masked": masked, "block_i": kernel.BI, "block_j": kernel.BJ, "block_c": kernel.BC}
            built = check_compiled(kernel.advance_kernel, types, constants, generation, num_warps=kernel.WARPS)
            assert "mma" in built.asm["ptx"]  # on the matrix units
            assert built.metadata.shared <= 99 * 1024, built.metadata.shared  # of sm_89
