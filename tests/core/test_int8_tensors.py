from __future__ import annotations

import torch

from nscma_torch.core.int8_tensors import SCALE, dequantized, quantized


def test_large_matrices_lose_at_most_half_a_step_of_their_row() -> None:
    torch.manual_seed(0)
    large = torch.randn(512, 256) * torch.logspace(-3, 3, 512)[:, None]
    large[7] = 0
    tensors = {"large": large.bfloat16(), "small": torch.randn(8, 8), "row.scale": torch.randn(70_000)}
    stored = quantized(tensors)
    assert stored["large"].dtype == torch.int8 and stored["large" + SCALE].shape == (512,)
    back = dequantized(stored)
    assert back.keys() == tensors.keys()
    assert torch.equal(back["small"], tensors["small"]) and torch.equal(back["row.scale"], tensors["row.scale"])
    rows = tensors["large"].float()
    assert ((back["large"] - rows).abs() <= rows.abs().amax(1, keepdim=True) / 254 * 1.001).all()
