"""Whether the Triton kernel of `memory_scan` errs no more than plain torch in float32."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nscma_kernels import MemoryState, flush_memory, memory_scan

Shape = tuple[int, int, int, int]  # B, D, hidden, chunk
SHAPES: Sequence[Shape] = [(1, 3, 5, 2), (2, 70, 7, 16), (3, 41, 130, 40), (2, 64, 65, 1)]
LARGE: Sequence[Shape] = [(4, 384, 1536, 64)]  # for a GPU


def agree(shapes: Sequence[Shape], device: str) -> int:
    """Number of comparisons, none of them with more error than torch's."""
    for shape in shapes:
        for masked in (False, True):
            check(*shape, masked, device)
    return 2 * len(shapes)


def check(batch: int, d: int, hidden: int, chunk: int, masked: bool, device: str) -> None:
    """Against float64: outputs, states and gradients, with no more error than plain torch in float32 plus 1e-5."""
    generator = torch.Generator().manual_seed(d)
    length = 3 * chunk + 1

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    tokens = [random(batch, length, d) / d**0.5, random(batch, length, d) / d**0.5, random(batch, length, d)]
    tokens += [0.1 * random(batch, length).sigmoid(), random(batch, length), random(batch, length) - 2]
    weights = [random(batch, d, hidden) / d**0.5, (random(batch, d, hidden) / hidden**0.5).mT]  # one is not contiguous
    mask = (random(batch, length) > 0) if masked else None
    if mask is not None:
        mask[0, : 2 * chunk] = False
    results = []
    for dtype, impl in ((torch.float64, "torch"), (torch.float32, "torch"), (torch.float32, "triton")):
        leaves = [leaf.to(dtype).requires_grad_() for leaf in (*tokens, *weights)]
        state = MemoryState.fresh((leaves[6], leaves[7]), norm=True)
        out, state, surprise = memory_scan(*leaves[:6], state, segment=chunk, store_mask=mask, impl=impl)  # type: ignore[arg-type]
        state = flush_memory(state, segment=chunk, impl=impl)  # type: ignore[arg-type]
        made = [out, surprise, *state.weights, *state.momentum]
        grads = torch.autograd.grad(sum(part.square().sum() for part in made), leaves)  # type: ignore[arg-type]
        results.append([part.detach().double() for part in (*made, *grads)])
    for truth, plain, ours in zip(*results, strict=True):
        scale = max(1.0, float(truth.abs().max()))
        assert (ours - truth).abs().max() <= (plain - truth).abs().max() + 1e-5 * scale
    if mask is not None:
        for weight, before in zip(state.weights, weights, strict=True):
            assert weight.shape == before.shape
