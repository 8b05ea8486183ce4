"""The Triton kernel of `ego_split`: in the interpreter it gives what plain torch gives; it compiles without a GPU.

`test_triton.py` runs `interpret` and `compile_all`.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nscma_kernels.ego_split import ego_split
from tests.kernels.agreement.ego_split import LARGE, SHAPES, agree, same
from tests.kernels.triton_parts import GENERATIONS, check_compiled

pytest.importorskip("triton")


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


def interpret() -> int:
    """Exact equality: random graphs, and hubs below, at and above the largest degree that the kernel takes."""
    count = agree(SHAPES, "cpu")
    for degree in (64, 128, 129):
        same(ego_split(hub(degree), impl="triton"), ego_split(hub(degree), impl="torch"))
        count += 1
    return count


def compile_all() -> None:
    """Ahead of time, for every generation and every width."""
    from nscma_kernels.triton.ego_split import WARPS, component_kernel

    for generation in GENERATIONS:
        for lanes, warps in WARPS.items():
            types = ["*i64"] * (len(component_kernel.arg_names) - 1)
            check_compiled(component_kernel, types, {"lanes": lanes}, generation, num_warps=warps)
