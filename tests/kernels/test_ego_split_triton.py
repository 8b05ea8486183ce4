"""The Triton kernel of `ego_split`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

Triton reads TRITON_INTERPRET when a kernel is decorated, so each part runs this file as a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nscma_kernels.ego_split import ego_split
from tests.kernels.agreement.ego_split import LARGE, SHAPES, agree, same
from tests.kernels.triton_parts import run

pytest.importorskip("triton")


def test_equals_torch_in_the_interpreter() -> None:
    assert run(__file__, "interpret").split() == ["equal", str(2 * len(SHAPES) + 3)]


def test_compiles_for_three_generations() -> None:
    assert run(__file__, "compile").split() == ["80", "89", "90"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_equals_torch_on_a_gpu(shape: tuple[int, float]) -> None:
    assert agree([shape], "cuda") == 2


def hub(degree: int) -> Tensor:
    """A node around which the others form paths, each three quarters of the way to the next."""
    rim = torch.arange(1, degree)
    rim = rim[rim % 4 != 0]
    spokes = torch.stack([torch.zeros(degree, dtype=torch.int64), torch.arange(1, degree + 1)])
    return torch.cat([spokes, torch.stack([rim, rim + 1])], dim=1)


def interpret() -> None:
    """Exact equality: random graphs, and hubs below, at and above the largest degree that the kernel takes."""
    count = agree(SHAPES, "cpu")
    for degree in (64, 128, 129):
        same(ego_split(hub(degree), impl="triton"), ego_split(hub(degree), impl="torch"))
        count += 1
    print("equal", count)


def compile_all() -> None:
    """Ahead of time, for every generation and every width."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from nscma_kernels.triton.ego_split import WARPS, component_kernel

    names = component_kernel.arg_names
    signature = {name: "constexpr" if name == "lanes" else "*i64" for name in names}
    for capability in (80, 89, 90):
        for lanes, warps in WARPS.items():
            source = ASTSource(fn=component_kernel, signature=signature, constexprs={"lanes": lanes})
            built = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps})
            assert f"sm_{capability}" in built.asm["ptx"]
            assert len(built.asm["cubin"]) > 0
        print(capability)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
    interpret() if sys.argv[1] == "interpret" else compile_all()
