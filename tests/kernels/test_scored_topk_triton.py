"""The Triton kernels of `scored_topk`: in the interpreter they give what plain torch gives; they compile without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_kernels import Filter, scored_topk
from tests.kernels.triton_parts import run

pytest.importorskip("triton")

SHAPES = [(1, 3, 5, 1), (2, 65, 7, 9), (17, 201, 33, 5), (2, 401, 41, 200), (66, 129, 70, 2)]  # Q, N, D, k


def test_equals_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(8 * len(SHAPES) + 5)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, (1, 100_000, 384, 10), (300, 20_000, 384, 10)])
def test_equals_torch_on_a_gpu(shape: tuple[int, int, int, int]) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        for options in variants(*shape, device="cuda"):
            check(*shape, dtype, options)


def variants(q: int, n: int, d: int, k: int, device: str = "cpu") -> list[dict[str, Any]]:
    """Plain; columns and one filter; all at once, bounds on both sides or on one."""
    generator = torch.Generator().manual_seed(n)
    columns = torch.randint(-3, 4, (n, 2), generator=generator).float().to(device)
    mask = (torch.rand(n, generator=generator) < 0.7).to(device)
    flags = (1 << torch.randint(0, 6, (n,), generator=generator)).to(device)
    keys = torch.randint(-20, 20, (n, 3), generator=generator).to(device)
    whole = Filter(mask, flags, 0b101111, keys, (-18, -20, -5), (17, 2**63 - 1, 19))
    return [
        {},
        {
            "columns": columns,
            "weights": torch.ones(2, device=device),
            "rows": Filter(mask=mask),
            "longest": 9.0 * d**0.5,
        },
        {"columns": columns, "weights": torch.ones(q, 2, device=device).cumsum(0), "rows": whole},
        {"rows": Filter(flags=flags, any_of=2, keys=keys.T.contiguous().T, low=(0, -9, -20))},
    ]


def check(q: int, n: int, d: int, k: int, dtype: torch.dtype, options: dict[str, Any], real: bool = False) -> None:
    """Integers by default, so that float32 sums are exact; some rows are stored again."""
    generator = torch.Generator().manual_seed(n + q)
    device = options["columns"].device if "columns" in options else "cuda" if torch.cuda.is_available() else "cpu"
    vectors = torch.randint(-9, 10, (n, d), generator=generator).float()
    queries = torch.randint(-9, 10, (q, d), generator=generator).float()
    if real:
        vectors, queries = vectors + torch.randn(n, d, generator=generator), torch.randn(q, d, generator=generator)
    vectors[n // 2 :] = vectors[torch.randint(0, n // 2 + 1, (n - n // 2,), generator=generator)]
    vectors, queries = vectors.to(device, dtype), queries.to(device)
    one, other = (scored_topk(queries, vectors, k, impl=impl, **options) for impl in ("triton", "torch"))  # type: ignore[arg-type]
    assert torch.equal(one[1], other[1]), (q, n, d, k, dtype, options)
    assert torch.equal(one[0], other[0]), (q, n, d, k, dtype, options)


def interpret() -> None:
    """Integers and real vectors; more ties than groups are taken at first; several blocks of queries."""
    from nscma_kernels.triton import scored_topk as kernel

    count = 0
    for shape in SHAPES:
        for dtype in (torch.float32, torch.bfloat16):
            for options in variants(*shape):
                check(*shape, dtype, options)
                count += 1
    check(3, 700, 20, 5, torch.float32, {}, real=True)
    check(3, 700, 20, 5, torch.bfloat16, {}, real=True)
    large = torch.full((2, 4), 1e15)
    assert scored_topk(large, large, 1, impl="triton")[1].tolist() == [[0], [0]]  # near scores in float64
    kernel.AHEAD = 0
    scores, index = scored_topk(torch.ones(2, 4), torch.ones(1000, 4), 3, impl="triton")
    assert index.tolist() == [[0, 1, 2]] * 2
    assert scores.unique().tolist() == [4.0]
    kernel.MAXIMA = 9
    check(11, 150, 8, 4, torch.float32, {})
    print("equal", count + 5)


def compile_all() -> None:
    """Ahead of time, for every generation, dtype and constant."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from nscma_kernels.triton import scored_topk as kernel

    filters = ["*u8", "*i64", "i64", "*i64", "i64", "i64", "*i64", "*i64"]
    for capability in (80, 89, 90):
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
                names = fn.arg_names
                signature = dict(zip(names, types + ["constexpr"] * (len(names) - len(types)), strict=True))
                source = ASTSource(fn=fn, signature=signature, constexprs=constants)
                options = {"num_warps": 4 if block_m == 16 else 8, "num_stages": 3}
                built = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
                assert f"sm_{capability}" in built.asm["ptx"]
                assert len(built.asm["cubin"]) > 0
                assert built.metadata.shared <= 99 * 1024, (dtype, block_m, built.metadata.shared)  # of sm_89
        print(capability)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
    interpret() if sys.argv[1] == "interpret" else compile_all()
