"""Benchmark cases for `memory_scan`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import torch
from cases.case import Case
from cases.peak import peak_bytes
from torch import Tensor

from nscma_kernels import MemoryState, memory_scan


def memory_scan_cases(device: torch.device, _large: bool) -> Iterator[Case]:
    """Yield the memory of titans-pytorch with its projections and gates around ours, so both give the same numbers.

    Gradients are at the weights of the start ("start"), which is the peer's default, or of each chunk ("chunk"), which
    for the peer is a loop over chunks; forward, or forward and backward with gradients of all parameters.
    """
    if importlib.util.find_spec("titans_pytorch") is None:
        print("titans-pytorch is not installed: left out")
    d = 384
    for length, chunk, refresh, train in (
        (1024, 64, False, False),
        (1024, 64, True, False),
        (1024, 16, False, False),
        (4096, 64, False, False),
        (256, 64, False, True),
        (256, 16, False, True),
    ):
        peer = _peer(d, chunk, chunk if refresh else None, device)
        x = torch.randn(1, length, d, device=device)
        runs: dict[str, Callable[[], object]] = {}
        if peer is not None:
            runs["ours"] = _run(_ours(peer, chunk, chunk if refresh else None), peer, x, train)
            runs["titans-pytorch"] = _run(peer, peer, x, train)
            _compare(peer, x, chunk, chunk if refresh else None, runs, device)
        else:
            runs["ours"] = _alone(x, chunk, chunk if refresh else None, train)
        at, what = ("chunk" if refresh else "start"), ("forward+backward" if train else "forward")
        yield f"T={length} d={d} chunk={chunk} {at} {what}", runs


def _peer(d: int, chunk: int, segment: int | None, device: torch.device) -> Any:
    if importlib.util.find_spec("titans_pytorch") is None:
        return None
    from titans_pytorch import NeuralMemory

    return NeuralMemory(dim=d, chunk_size=chunk, batch_size=segment, mem_model_norm_add_residual=False).to(device)


def _ours(peer: Any, chunk: int, segment: int | None) -> Callable[[Tensor], tuple[Tensor, Any]]:
    def run(x: Tensor) -> tuple[Tensor, Any]:
        read, store = peer.retrieve_norm(x), peer.store_norm(x)
        theta = peer.to_adaptive_step[0](store)[..., 0].sigmoid() / x.shape[2]  # its loss is a mean
        eta, alpha = peer.to_momentum[0](store)[..., 0], peer.to_decay_factor[0](store)[..., 0]
        state = MemoryState.fresh(tuple(peer.memory_model_parameters))
        q, k, v = peer.to_queries(read), peer.to_keys(store), peer.to_values(store)
        return memory_scan(q, k, v, theta, eta, alpha, state, segment=segment, chunk=chunk)[:2]

    return run


def _alone(x: Tensor, chunk: int, segment: int | None, train: bool) -> Callable[[], object]:
    """Return ours without projections, if there is no peer."""
    d, gate = x.shape[2], x[..., 0]
    weights = (torch.randn(1, d, 4 * d, device=x.device) / d**0.5, torch.randn(1, 4 * d, d, device=x.device) / d)
    leaves = [tensor.clone().requires_grad_(train) for tensor in (x, x, x, gate.sigmoid() / d, gate, gate - 4)]
    state = MemoryState.fresh(weights)

    def run() -> object:
        out = memory_scan(*leaves, state, segment=segment, chunk=chunk)
        return torch.autograd.grad(out[0].square().mean(), leaves) if train else out

    return run


def _run(memory: Callable[[Tensor], tuple[Tensor, Any]], peer: Any, x: Tensor, train: bool) -> Callable[[], object]:
    def run() -> object:
        with torch.set_grad_enabled(train):
            out = memory(x)
        if train:
            peer.zero_grad()
            out[0].square().mean().backward()
        return out

    return run


def _compare(
    peer: Any,
    x: Tensor,
    chunk: int,
    segment: int | None,
    runs: dict[str, Callable[[], object]],
    device: torch.device,
) -> None:
    with torch.no_grad():
        one, other = _ours(peer, chunk, segment)(x)[0], peer(x)[0]
    error = float((one - other).abs().max() / other.abs().max())
    ours, theirs = (peak_bytes(run, device) / 2**20 for run in (runs["ours"], runs["titans-pytorch"]))
    held = f"held at most: ours {ours:.0f} MiB, titans-pytorch {theirs:.0f}"
    print(f"{'':21} {held}; outputs {error:.0e} of the largest apart")
