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
from tests.kernels.triton_parts import run

pytest.importorskip("triton")

SHAPES = [(1, 1, 1), (7, 13, 5), (41, 401, 71), (130, 1271, 33), (3, 2003, 64)]  # T, V, d
OPTIONS: list[dict[str, Any]] = [{}, {"softcap": 5.0}, {"bias": True}, {"bias": True, "softcap": 30.0}]


def test_errs_no_more_than_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["good", str(3 * len(SHAPES) * len(OPTIONS) + 3)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, (300, 49_152, 576), (17, 151_936, 896)])
def test_errs_no_more_than_torch_on_a_gpu(shape: tuple[int, int, int]) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for options in OPTIONS:
            check(shape, options, dtype, "cuda")


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


def check(shape: tuple[int, int, int], options: dict[str, Any], dtype: torch.dtype, device: str = "cpu") -> None:
    """Against float64; the same bits again, and without entropy; gradients as those of the torch path."""
    t, v, d = shape
    generator = torch.Generator().manual_seed(t + v)
    hidden = (3 * torch.randn(t, d, generator=generator)).to(device, dtype).requires_grad_()
    weight = (torch.randn(v, d, generator=generator) * d**-0.5).to(device, dtype).requires_grad_()
    targets = torch.randint(0, v, (t,), generator=generator).to(device)
    targets[3::5] = -100
    options = dict(options)
    if options.get("bias"):
        options["bias"] = torch.randn(v, generator=generator).to(device).requires_grad_()
        if v > 3 and "softcap" not in options:
            options["bias"].data[v // 2] = -math.inf
            targets[0] = v // 2
    leaves = [hidden, weight] + ([options["bias"]] if "bias" in options else [])
    ours = token_nll(hidden, weight, targets, impl="triton", return_entropy=True, **options)
    exact = {name: value.double() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    true = token_nll(hidden.double(), weight.double(), targets, return_entropy=True, **exact)
    plain = {**exact, "bias": exact["bias"].float()} if "bias" in exact else exact
    torchs = token_nll(hidden.float(), weight.float(), targets, impl="torch", return_entropy=True, **plain)
    apart = torch.finfo(dtype).eps  # of a probability: the backward pass computes logits again, by another product
    for our, their, right in zip(ours, torchs, true, strict=True):
        assert torch.equal(our.isinf(), right.isinf())
        fine = right.isfinite()
        error, allowed = ((part.double() - right)[fine].abs().max() for part in (our, their))
        assert error <= allowed + 1e-5, (shape, options, dtype, error, allowed)
        apart += float((error + allowed).detach())
    again = token_nll(hidden, weight, targets, impl="triton", return_entropy=True, **options)
    assert all(torch.equal(one, other) for one, other in zip(ours, again, strict=True))
    assert torch.equal(ours[0], token_nll(hidden, weight, targets, impl="triton", **options))
    if device == "cpu" and dtype != torch.float32:  # its logits are rounded, and those of the interpreter are not
        return
    half = token_nll(hidden, weight, targets, impl="torch", return_entropy=True, **options)
    gradients = [
        torch.autograd.grad(sum(part[part.isfinite()].sum() for part in results), leaves)
        for results in (ours, half, true)
    ]
    for our, their, right in zip(*gradients, strict=True):
        error, allowed = ((part.double() - right).abs().max() for part in (our, their))
        assert error <= allowed + 1e-5 + apart * right.abs().max(), (shape, options, dtype)


def interpret() -> None:
    """Every buffer that a kernel does not fill would be NaN."""
    from nscma_kernels.triton import token_nll as kernel

    torch.use_deterministic_algorithms(True)  # fills what torch.empty returns with NaN
    assert torch.empty(3).isnan().all()
    count = 0
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shape in SHAPES:
            for options in OPTIONS:
                check(shape, options, dtype)
                count += 1
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
