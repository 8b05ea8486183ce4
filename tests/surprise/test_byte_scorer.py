"""Reading without gradients gives the numbers of the network that is trained, on any length and from any state."""

from __future__ import annotations

import pytest
import torch

from nscma_torch.surprise.byte_model.byte_context import ByteContext, byte_context
from nscma_torch.surprise.byte_model.byte_lm import ByteLM, ByteLMConfig
from nscma_torch.surprise.byte_model.byte_scorer import ByteScorer, normalized, scanned

CPU = torch.device("cpu")
SMALL = ByteLMConfig(layers=2, width=24, table_bits=8, table_width=4, match_width=4, reach=256)


@pytest.fixture(scope="module")
def model() -> ByteLM:
    torch.manual_seed(0)
    model = ByteLM(SMALL)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return model


def context_of(size: int) -> ByteContext:
    text = torch.randint(97, 102, (size,), generator=torch.Generator().manual_seed(size))
    return byte_context(text, SMALL.table_bits, SMALL.reach)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [1, 2, 31, 137, 500])
def test_logits_and_state_are_the_networks(model: ByteLM, size: int, dtype: torch.dtype) -> None:
    context, state = (
        context_of(size),
        torch.randn(SMALL.layers, SMALL.width, generator=torch.Generator().manual_seed(1)),
    )
    with torch.inference_mode():
        logits, end = ByteScorer(model, CPU, dtype).logits(context, state)
        expected, after = model(ByteContext(*(field[None] for field in context)), state[:, None])
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 0.05, "atol": 0.25}
    torch.testing.assert_close(logits, expected[0], **near)
    torch.testing.assert_close(end, after[:, 0], **near)


def test_a_scan_is_its_steps_and_never_overflows() -> None:
    for size in (1, 2, 3, 8, 65, 200):
        decay, value = torch.rand(2, size, 5, generator=torch.Generator().manual_seed(size)).unbind()
        decay[size // 2] = 0.0
        state, states = torch.full((5,), 1e30), []
        start = state.clone()
        for a, v in zip(decay, value, strict=True):
            state = a * state + v
            states.append(state)
        torch.testing.assert_close(scanned(decay.clone(), value.clone(), start), torch.stack(states))


def test_rows_are_normalised_as_rms_norm_does() -> None:
    x = torch.randn(7, 24) * torch.tensor([0.0, 1e-8, 1e-3, 1.0, 10.0, 1e3, 1e6])[:, None]
    torch.testing.assert_close(normalized(x), torch.nn.functional.rms_norm(x, (24,)))
