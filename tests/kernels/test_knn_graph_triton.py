"""The Triton kernel of `knn_graph`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

`test_triton.py` runs `interpret` and `compile_all`.
"""

from __future__ import annotations

import pytest
import torch

from tests.kernels.agreement.knn_graph import LARGE, SHAPES, agree, check
from tests.kernels.triton_parts import GENERATIONS, check_compiled

pytest.importorskip("triton")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_equals_torch_on_a_gpu(shape: tuple[int, int, int]) -> None:
    assert agree([shape], "cuda") == 4


def interpret() -> int:
    """Exact equality on integers and on real vectors; rows that outnumber the candidates held; several blocks."""
    from nscma_kernels.triton import knn_graph as kernel

    count = agree(SHAPES, "cpu")
    check(torch.ones(300, 4), 2)
    check(torch.randn(260, 33, generator=torch.Generator().manual_seed(0)), 4)
    kernel.MAXIMA = 9 * 100
    check(torch.randn(270, 20, generator=torch.Generator().manual_seed(1)), 4)
    return count + 3


def compile_all() -> None:
    """Ahead of time, for every generation and every constant."""
    from nscma_kernels.triton import knn_graph as kernel

    pointers = ["*bf16"] * 2 + ["*i64"] * 6 + ["*fp32"] * 2 + ["*i32"] * 2
    types = [*pointers, *["i32"] * 5, "i64", "fp32", "fp32"]
    sizes = {"block_m": kernel.BM, "block_n": kernel.BN, "block_k": kernel.BK, "group": kernel.GROUP}
    for generation in GENERATIONS:
        for band, emit in ((True, False), (False, True)):
            constants = {"band": band, "emit": emit, **sizes}
            check_compiled(kernel.tile_kernel, types, constants, generation, num_warps=8, num_stages=3)
