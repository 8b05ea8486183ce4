"""The Triton kernel of `memory_scan`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from nscma_kernels import MemoryState, flush_memory, memory_scan
from tests.kernels.triton_parts import run

pytest.importorskip("triton")

SHAPES = [(1, 3, 5, 2), (2, 70, 7, 16), (3, 41, 130, 40), (2, 64, 65, 1)]  # B, D, hidden, chunk


def test_no_more_error_than_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(2 * len(SHAPES))]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, (4, 384, 1536, 64)])
def test_no_more_error_than_torch_on_a_gpu(shape: tuple[int, int, int, int]) -> None:
    for masked in (False, True):
        check(*shape, masked, "cuda")


def check(batch: int, d: int, hidden: int, chunk: int, masked: bool, device: str) -> None:
    """Against float64: outputs, states and gradients, with no more error than plain torch in float32 plus 1e-5."""
    generator = torch.Generator().manual_seed(d)
    length = 3 * chunk + 1

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    tokens = [random(batch, length, d) / d**0.5, random(batch, length, d) / d**0.5, random(batch, length, d)]
    tokens += [0.1 * random(batch, length).sigmoid(), random(batch, length), random(batch, length) - 2]
    weights = [random(batch, d, hidden) / d**0.5, (random(batch, d, hidden) / hidden**0.5).mT]  # one is not contiguous
    mask = (random(batch, length) > 0) if masked else None
    if mask is not None:
        mask[0, : 2 * chunk] = False
    results = []
    for dtype, impl in ((torch.float64, "torch"), (torch.float32, "torch"), (torch.float32, "triton")):
        leaves = [leaf.to(dtype).requires_grad_() for leaf in (*tokens, *weights)]
        state = MemoryState.fresh((leaves[6], leaves[7]), norm=True)
        out, state, surprise = memory_scan(*leaves[:6], state, segment=chunk, store_mask=mask, impl=impl)  # type: ignore[arg-type]
        state = flush_memory(state, segment=chunk, impl=impl)  # type: ignore[arg-type]
        made = [out, surprise, *state.weights, *state.momentum]
        grads = torch.autograd.grad(sum(part.square().sum() for part in made), leaves)  # type: ignore[arg-type]
        results.append([part.detach().double() for part in (*made, *grads)])
    for truth, plain, ours in zip(*results, strict=True):
        scale = max(1.0, float(truth.abs().max()))
        assert (ours - truth).abs().max() <= (plain - truth).abs().max() + 1e-5 * scale
    if mask is not None:
        for weight, before in zip(state.weights, weights, strict=True):
            assert weight.shape == before.shape


def interpret() -> None:
    for shape in SHAPES:
        for masked in (False, True):
            check(*shape, masked, "cpu")
    print("equal", 2 * len(SHAPES))


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
