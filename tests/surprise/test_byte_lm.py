"""The recurrence against its definition, its gradient, and the network cut into pieces."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from nscma_torch.surprise.byte_model.byte_context import ByteContext, byte_context
from nscma_torch.surprise.byte_model.byte_lm import ByteLM, ByteLMConfig, _LinearScan, linear_scan

SMALL = ByteLMConfig(layers=2, width=24, table_bits=8, table_width=4, match_width=4, reach=256)


def randomised(config: ByteLMConfig) -> ByteLM:
    torch.manual_seed(0)
    model = ByteLM(config).eval()
    for weight in model.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.2)
    return model.requires_grad_(False)


@pytest.mark.parametrize("size", [1, 2, 3, 41, 64, 401])
def test_scan_error_is_no_larger_than_step_by_step(size: int) -> None:
    torch.manual_seed(size)
    decay, value, start = torch.rand(2, size, 7), torch.randn(2, size, 7), torch.randn(2, 7)
    truth, plain = start.double(), start
    steps, exact = [], []
    for t in range(size):
        truth = decay[:, t].double() * truth + value[:, t].double()
        plain = decay[:, t] * plain + value[:, t]
        exact.append(truth)
        steps.append(plain)
    ours = (linear_scan(decay, value, start).double() - torch.stack(exact, 1)).abs().max()
    theirs = (torch.stack(steps, 1).double() - torch.stack(exact, 1)).abs().max()
    assert ours <= theirs + 1e-5


def test_scan_is_safe_where_a_logarithm_or_a_division_is_not() -> None:
    decay = torch.zeros(1, 300, 2)
    decay[..., 1] = 1.0
    states = linear_scan(decay, torch.ones(1, 300, 2), torch.full((1, 2), 1e30))
    assert torch.isfinite(states).all() and torch.equal(states[0, :, 0], torch.ones(300))


@pytest.mark.parametrize("size", [1, 5, 19])
def test_gradient_of_the_scan(size: int) -> None:
    torch.manual_seed(size)
    inputs = [torch.rand(2, size, 3), torch.randn(2, size, 3), torch.randn(2, 3)]
    assert gradcheck(_LinearScan.apply, [x.double().requires_grad_() for x in inputs])


@pytest.mark.parametrize("cut", [1, 40, 99])
def test_split_equals_whole(cut: int) -> None:
    model = randomised(SMALL).double()
    text = torch.randint(0, 256, (2, 100))
    contexts = [byte_context(row, SMALL.table_bits, SMALL.reach) for row in text]
    whole = ByteContext(*(torch.stack(fields) for fields in zip(*contexts, strict=True)))
    logits, state = model(whole, model.initial_state(2))
    left, middle = model(ByteContext(*(field[:, :cut] for field in whole)), model.initial_state(2))
    right, end = model(ByteContext(*(field[:, cut:] for field in whole)), middle)
    torch.testing.assert_close(torch.cat([left, right], 1), logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(end, state, rtol=1e-4, atol=1e-4)


def test_one_training_step_reaches_every_parameter_and_lowers_the_loss() -> None:
    torch.manual_seed(0)
    model = ByteLM(SMALL)
    text = torch.tensor(list(b"I moved to Lisbon. I moved to Lisbon. I moved to Lisbon. I moved to Lisbon!"))
    context = ByteContext(*(field[None] for field in byte_context(text[:-1], SMALL.table_bits, SMALL.reach)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(8):
        logits, _ = model(context, model.initial_state(1))
        loss = torch.nn.functional.cross_entropy(logits[0], text[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert [name for name, weight in model.named_parameters() if not weight.grad.abs().sum() > 0] == []
