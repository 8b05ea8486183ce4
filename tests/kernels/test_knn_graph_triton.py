"""The Triton kernel of `knn_graph`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nscma_kernels.knn_graph import knn_graph
from tests.kernels.triton_parts import run

pytest.importorskip("triton")

SHAPES = [(1, 3, 1), (2, 1, 4), (41, 7, 3), (129, 65, 2), (401, 17, 9), (257, 130, 40)]


def test_equals_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(4 * len(SHAPES) + 3)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("n", "d", "k"), [*SHAPES, (20_000, 384, 10)])
def test_equals_torch_on_a_gpu(n: int, d: int, k: int) -> None:
    for options in variants(n, torch.device("cuda")):
        x = separated(n, d).cuda()
        one, other = (knn_graph(x, k, impl=impl, **options) for impl in ("triton", "torch"))
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])


def separated(n: int, d: int) -> Tensor:
    """Integers, so that float32 sums are exact; a row of zeros and a duplicate among them."""
    x = torch.randint(-9, 10, (n, d), generator=torch.Generator().manual_seed(n)).float()
    x[n // 2] = 0
    x[n - 1] = x[0]
    return x


def variants(n: int, device: torch.device | None = None) -> list[dict[str, Any]]:
    """Plain; with positions; with graphs; with positions, graphs and new rows."""
    generator = torch.Generator().manual_seed(n)
    position = torch.randint(0, max(2, n // 2), (n,), generator=generator).to(device)
    stream = torch.randint(0, 3, (n,), generator=generator).to(device)
    batch = torch.randint(0, 5, (n,), generator=generator).to(device)
    where = {"alpha": 0.7, "position": position, "stream": stream}
    return [
        {},
        {**where, "sigma": 3.0, "gamma": 0.05},
        {"batch": batch, "gamma": -0.2},
        {**where, "batch": batch, "start": n // 3},
    ]


def interpret() -> None:
    """Exact equality on integers and on real vectors; rows that outnumber the candidates held; several blocks."""
    from nscma_kernels.triton import knn_graph as kernel

    def check(x: Tensor, k: int, **options: Any) -> None:
        one, other = (knn_graph(x, k, impl=impl, **options) for impl in ("triton", "torch"))
        assert torch.equal(one[0], other[0]), (x.shape, k, options)
        assert torch.equal(one[1], other[1]), (x.shape, k, options)
        assert one[0].shape[1] > 0 or len(x) < 3, (x.shape, k, options)

    count = 0
    for n, d, k in SHAPES:
        for options in variants(n):
            check(separated(n, d), k, **options)
            count += 1
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
