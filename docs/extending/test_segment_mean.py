# tests/kernels/test_segment_mean.py
"""`segment_mean` against the mean of each segment in float64."""

from __future__ import annotations

import pytest
import torch

from nscma_kernels import segment_mean


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("n", "d", "segments"), [(401, 41, 7), (1, 3, 5), (0, 2, 3)])
def test_errs_no_more_than_plain_torch(n: int, d: int, segments: int, dtype: torch.dtype) -> None:
    values, segment = torch.randn(n, d).to(dtype), torch.randint(segments, (n,))
    got = segment_mean(values, segment, segments)
    for index in range(segments):
        rows = values[segment == index]
        truth = rows.double().mean(0) if len(rows) else torch.zeros(d, dtype=torch.float64)
        plain = rows.mean(0) if len(rows) else torch.zeros(d, dtype=dtype)
        assert (got[index] - truth).abs().max() <= (plain - truth).abs().max() + 1e-5


def test_gradients_and_errors() -> None:
    values = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    segment = torch.tensor([0, 2, 2, 0, 1, 1, 1, 0, 2])
    assert torch.autograd.gradcheck(lambda rows: segment_mean(rows, segment, 4), (values,))
    with pytest.raises(ValueError, match="segment"):
        segment_mean(values, segment[:3], 4)
