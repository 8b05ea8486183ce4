from __future__ import annotations

import pytest
import torch
from torch import nn

from nscma_torch.reading.int8_linear import Int8Linear


@pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="needs a CPU with VNNI")
def test_products_differ_by_the_quantization_alone() -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(256, 512), torch.randn(3, 40, 256)
    with torch.no_grad():
        exact, own = linear(x), Int8Linear(linear)(x)
    assert own.shape == exact.shape
    assert (own - exact).abs().mean() < 0.02 * exact.abs().mean()


@pytest.mark.parametrize("bias", [True, False])
def test_a_row_of_zeros_gives_the_bias(bias: bool) -> None:
    linear = nn.Linear(64, 32, bias=bias)
    expected = linear.bias if bias else torch.zeros(32)
    assert torch.equal(Int8Linear(linear)(torch.zeros(1, 64))[0], expected)
