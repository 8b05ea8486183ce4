"""The Triton kernels of `token_nll`: in the interpreter they err no more than torch; they compile without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_kernels import token_nll
from tests.kernels.agreement.token_nll import LARGE, OPTIONS, SHAPES, agree
from tests.kernels.triton_parts import run

pytest.importorskip("triton")


def test_errs_no_more_than_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["good", str(3 * len(SHAPES) * len(OPTIONS) + 3)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


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


def interpret() -> None:
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
    print("good", count + 3)


def compile_all() -> None:
    """Ahead of time, for every generation, dtype, size of tile and constant."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from nscma_kernels.triton import token_nll as kernel

    def built(fn: Any, types: list[str], constants: dict[str, Any], capability: int, warps: int) -> Any:
        names = fn.arg_names
        signature = dict(zip(names, types + ["constexpr"] * (len(names) - len(types)), strict=True))
        source = ASTSource(fn=fn, signature=signature, constexprs=constants)
        target = GPUTarget("cuda", capability, 32)
        return triton.compile(source, target=target, options={"num_warps": warps, "num_stages": 3})

    shared = {80: 163, 89: 99, 90: 227}  # KiB that a program may use
    for capability in (80, 89, 90):
        for dtype, size, tokens, given in (
            ("bf16", 2, 4096, False),
            ("fp16", 2, 4096, True),
            ("bf16", 2, 5, True),
            ("fp32", 4, 64, True),
            ("fp32", 4, 512, False),
        ):
            block_t, block_v, block_d, warps = kernel.blocks(tokens, size, (capability // 10, capability % 10))
            constants = {"biased": given, "softcapped": given, "moments": given}
            constants |= {"block_t": block_t, "block_v": block_v, "block_d": block_d}
            types = [f"*{dtype}"] * 2 + ["*fp32", "*i64"] + ["*fp32"] * 4 + ["i32"] * 6 + ["fp32"]
            binary = built(kernel.partial_kernel, types, constants, capability, warps)
            assert f"sm_{capability}" in binary.asm["ptx"]
            assert "ex2.approx" in binary.asm["ptx"]
            assert "atom" not in binary.asm["ptx"]
            assert len(binary.asm["cubin"]) > 0
            assert binary.metadata.shared <= shared[capability] * 1024, (capability, dtype, binary.metadata.shared)
            merged = built(
                kernel.merge_kernel,
                ["*fp32"] * 4 + ["i32"] * 2,
                {"moments": given, "block_t": 128},
                capability,
                4,
            )
            assert len(merged.asm["cubin"]) > 0
        print(capability)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
    interpret() if sys.argv[1] == "interpret" else compile_all()
