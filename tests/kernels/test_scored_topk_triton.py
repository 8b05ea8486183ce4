"""The Triton kernels of `scored_topk`: in the interpreter they give what plain torch gives; they compile without a GPU.

`test_triton.py` runs `interpret` and `compile_all`.
"""

from __future__ import annotations

import pytest
import torch

from nscma_kernels import scored_topk
from tests.kernels.agreement.scored_topk import LARGE, SHAPES, agree, check
from tests.kernels.triton_parts import GENERATIONS, check_compiled

pytest.importorskip("triton")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_equals_torch_on_a_gpu(shape: tuple[int, int, int, int]) -> None:
    assert agree([shape], "cuda") == 8


def interpret() -> int:
    """Integers and real vectors; more ties than groups are taken at first; several blocks of queries."""
    from nscma_kernels.triton import scored_topk as kernel

    count = agree(SHAPES, "cpu")
    check(3, 700, 20, 5, torch.float32, {}, "cpu", real=True)
    check(3, 700, 20, 5, torch.bfloat16, {}, "cpu", real=True)
    large = torch.full((2, 4), 1e15)
    assert scored_topk(large, large, 1, impl="triton")[1].tolist() == [[0], [0]]  # near scores in float64
    kernel.AHEAD = 0
    scores, index = scored_topk(torch.ones(2, 4), torch.ones(1000, 4), 3, impl="triton")
    assert index.tolist() == [[0, 1, 2]] * 2
    assert scores.unique().tolist() == [4.0]
    kernel.MAXIMA = 9
    check(11, 150, 8, 4, torch.float32, {}, "cpu")
    return count + 5


def compile_all() -> None:
    """Ahead of time, for every generation, dtype and constant."""
    from nscma_kernels.triton import scored_topk as kernel

    filters = ["*u8", "*i64", "i64", "*i64", "i64", "i64", "*i64", "*i64"]
    for generation in GENERATIONS:
        for dtype, block_m, given in (
            ("bf16", 16, True),
            ("fp32", 128, True),
            ("bf16", 128, False),
        ):
            given_too = {"masked": given, "flagged": given, "group": kernel.GROUP}
            block_k = 64 if dtype == "bf16" else 32
            first = [f"*{dtype}"] * 2 + ["*fp32"] * 2 + filters + ["*fp32"] + ["i32"] * 6
            second = ["*fp32", f"*{dtype}", "*fp32", "*fp32", *filters, "*i64", "*fp32"] + ["i32"] * 5
            sizes = {"block_m": block_m, "block_n": kernel.BN, "block_k": block_k}
            for fn, types, constants in (
                (kernel.maxima_kernel, first, {**given_too, **sizes}),
                (kernel.rescore_kernel, second, {**given_too, "block_k": 64}),
            ):
                warps = 4 if block_m == 16 else 8
                built = check_compiled(fn, types, constants, generation, num_warps=warps, num_stages=3)
                assert built.metadata.shared <= 99 * 1024, (dtype, block_m, built.metadata.shared)  # of sm_89
