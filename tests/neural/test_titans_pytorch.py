"""`NeuralMemory` gives what titans-pytorch gives with its weights (skipped where that is not installed)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nscma_torch.neural import NeuralMemory

titans = pytest.importorskip("titans_pytorch", reason="pip install titans-pytorch==0.5.5")


def mapped(peer: Any, dim: int, heads: int, segment: int | None, chunk: int) -> NeuralMemory:
    """Our module with the peer's weights; its two input norms are folded into the projections after them."""
    ours = NeuralMemory(dim, heads=heads, segment=segment, chunk=chunk, norm=False).double()
    read, store = peer.retrieve_norm.weight, peer.store_norm.weight
    with torch.no_grad():
        ours.to_queries.weight.copy_(peer.to_queries.weight * read)
        ours.to_keys.weight.copy_(peer.to_keys.weight * store)
        ours.to_values.weight.copy_(peer.to_values.weight * store)
        ours.query_scale.copy_(peer.q_norm.gamma[:, 0] + 1)
        ours.key_scale.copy_(peer.k_norm.gamma[:, 0] + 1)
        for gate, other in (
            (ours.to_step, peer.to_adaptive_step),
            (ours.to_momentum, peer.to_momentum),
            (ours.to_decay, peer.to_decay_factor),
        ):
            gate.weight.copy_(other[0].weight * store)
            gate.bias.copy_(other[0].bias)
        if heads > 1:
            ours.to_gate.weight.copy_(peer.retrieve_gate[0].weight * read)
            ours.to_gate.bias.zero_()
            ours.combine.weight.copy_(peer.combine_heads.weight)
        else:  # there is no gate: one that is open
            ours.to_gate.weight.zero_()
            ours.to_gate.bias.fill_(100)
            ours.combine.weight.copy_(torch.eye(dim))
        for weight, other in zip(ours.memory, peer.memory_model_parameters, strict=True):
            weight.copy_(other)
    return ours


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("chunk", "segment"), [(1, 1), (4, 4), (4, 16), (16, None)])
@pytest.mark.parametrize("heads", [1, 3])
def test_equals_titans_pytorch(heads: int, chunk: int, segment: int | None) -> None:
    torch.manual_seed(0)
    dim = 24
    peer = titans.NeuralMemory(
        dim=dim,
        dim_head=dim // heads,
        heads=heads,
        chunk_size=chunk,
        batch_size=segment,
        qk_rmsnorm=True,
        mem_model_norm_add_residual=False,
    ).double()
    for norm in (peer.retrieve_norm, peer.store_norm):
        nn.init.uniform_(norm.weight, 0.5, 1.5)
    for norm in (peer.q_norm, peer.k_norm):
        nn.init.uniform_(norm.gamma, -0.5, 0.5)
    nn.init.constant_(peer.to_adaptive_step[0].bias, -4.0)  # with its own steps it leaves the range of float64
    ours = mapped(peer, dim, heads, segment, chunk)
    x = torch.randn(2, 61, dim, dtype=torch.float64)
    with torch.no_grad():
        expected, _, (losses, _) = peer(x, return_surprises=True)
        y, _, surprise = ours(x, return_surprise=True)
    assert (y - expected).abs().max() < 1e-9
    assert (surprise[:, : losses.shape[2]] - losses.mean(1)).abs().max() < 1e-5
    check_gradients(peer, ours, x[:, :33])


def check_gradients(peer: Any, ours: NeuralMemory, x: Tensor) -> None:
    """With respect to the input."""
    one, other = (x.clone().requires_grad_() for _ in range(2))
    seed = torch.randn_like(x)
    peer(one)[0].mul(seed).sum().backward()
    ours(other)[0].mul(seed).sum().backward()
    assert one.grad is not None and other.grad is not None
    assert (one.grad - other.grad).abs().max() < 1e-9 * one.grad.abs().max()
