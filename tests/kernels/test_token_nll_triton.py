"""The Triton kernels of `token_nll`: in the interpreter they err no more than torch; they compile without a GPU.

`test_triton.py` runs `interpret` and `compile_all`.
"""

from __future__ import annotations

import math

import pytest
import torch

from nscma_kernels import token_nll
from tests.kernels.agreement.token_nll import LARGE, OPTIONS, SHAPES, agree
from tests.kernels.triton_parts import GENERATIONS, check_compiled

pytest.importorskip("triton")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_errs_no_more_than_torch_on_a_gpu(shape: tuple[int, int, int]) -> None:
    assert agree([shape], "cuda") == 3 * len(OPTIONS)


def test_splits_cover_the_vocabulary_and_end_soon() -> None:
    from nscma_kernels.triton.token_nll import shares

    for tiles, blocks, processors in (
        (1, 1, 132),
        (1, 594, 132),
        (4, 594, 132),
        (32, 594, 132),
        (999, 7, 3),
        (5, 3, 1),
    ):
        share, splits = shares(tiles, blocks, processors)
        assert (splits - 1) * share < blocks <= splits * share
        ideal = math.ceil(tiles * blocks / processors)
        assert math.ceil(tiles * splits / processors) * share <= 1.25 * ideal + 1, (tiles, blocks, processors)


def interpret() -> int:
    """Every buffer that a kernel does not fill would be NaN."""
    from nscma_kernels.triton import token_nll as kernel

    torch.use_deterministic_algorithms(True)  # fills what torch.empty returns with NaN
    assert torch.empty(3).isnan().all()
    count = agree(SHAPES, "cpu")
    hidden, weight, targets = torch.ones(5, 4), torch.arange(1200.0).view(300, 4) / 1200, torch.arange(5)
    hidden[1, 2] = math.nan
    hidden[2, 2] = -math.inf
    nll, entropy = token_nll(hidden, weight, targets, impl="triton", return_entropy=True)
    assert nll.isnan().tolist() == entropy.isnan().tolist() == [False, True, True, False, False]
    assert token_nll(torch.empty(0, 4), weight, targets[:0], impl="triton").shape == (0,)
    whole = token_nll(hidden[3:], weight, targets[3:], impl="triton")
    for splits in (1, 2, 3):
        kernel.shares = lambda _tiles, blocks, _processors, splits=splits: (-(-blocks // splits), splits)
        other = token_nll(hidden[3:], weight, targets[3:], impl="triton")
        torch.testing.assert_close(other, whole, rtol=1e-6, atol=0)
    return count + 3


def compile_all() -> None:
    """Ahead of time, for every generation, dtype, size of tile and constant."""
    from nscma_kernels.triton import token_nll as kernel

    shared = {80: 163, 89: 99, 90: 227}  # KiB that a program may use
    for generation in GENERATIONS:
        for dtype, size, tokens, given in (
            ("bf16", 2, 4096, False),
            ("fp16", 2, 4096, True),
            ("bf16", 2, 5, True),
            ("fp32", 4, 64, True),
            ("fp32", 4, 512, False),
        ):
            block_t, block_v, block_d, warps = kernel.blocks(tokens, size, (generation // 10, generation % 10))
            constants = {"biased": given, "softcapped": given, "moments": given}
            constants |= {"block_t": block_t, "block_v": block_v, "block_d": block_d}
            types = [f"*{dtype}"] * 2 + ["*fp32", "*i64"] + ["*fp32"] * 4 + ["i32"] * 6 + ["fp32"]
            binary = check_compiled(kernel.partial_kernel, types, constants, generation, num_warps=warps, num_stages=3)
            assert "ex2.approx" in binary.asm["ptx"]
            assert "atom" not in binary.asm["ptx"]
            assert binary.metadata.shared <= shared[generation] * 1024, (generation, dtype, binary.metadata.shared)
            constants = {"moments": given, "block_t": 128}
            check_compiled(kernel.merge_kernel, ["*fp32"] * 4 + ["i32"] * 2, constants, generation, num_warps=4)
