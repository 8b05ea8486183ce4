"""Whether the Triton kernels of `token_nll` err no more than plain torch, and give the same bits again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from nscma_kernels import token_nll

Shape = tuple[int, int, int]  # T, V, d
SHAPES: Sequence[Shape] = [(1, 1, 1), (7, 13, 5), (41, 401, 71), (130, 1271, 33), (3, 2003, 64)]
LARGE: Sequence[Shape] = [(300, 49_152, 576), (17, 151_936, 896)]  # for a GPU
OPTIONS: Sequence[dict[str, Any]] = [{}, {"softcap": 5.0}, {"bias": True}, {"bias": True, "softcap": 30.0}]


def agree(shapes: Sequence[Shape], device: str) -> int:
    """Number of comparisons, none of them with more error than torch's.

    On a CPU, where Triton's interpreter is slow, each shape has one option in every type; the shapes take turns.
    """
    count = 0
    for number, shape in enumerate(shapes):
        for turn, dtype in ((2, torch.float32), (0, torch.bfloat16), (0, torch.float16)):
            for options in OPTIONS if device != "cpu" else [OPTIONS[(number + turn) % len(OPTIONS)]]:
                check(shape, options, dtype, device)
                count += 1
    return count


def check(shape: tuple[int, int, int], options: dict[str, Any], dtype: torch.dtype, device: str) -> None:
    """Against float64; the same bits again, and without entropy; gradients as those of the torch path."""
    t, v, d = shape
    generator = torch.Generator().manual_seed(t + v)
    hidden = (3 * torch.randn(t, d, generator=generator)).to(device, dtype).requires_grad_()
    weight = (torch.randn(v, d, generator=generator) * d**-0.5).to(device, dtype).requires_grad_()
    targets = torch.randint(0, v, (t,), generator=generator).to(device)
    targets[3::5] = -100
    options = dict(options)
    if options.get("bias"):
        options["bias"] = torch.randn(v, generator=generator).to(device).requires_grad_()
        if v > 3 and "softcap" not in options:
            options["bias"].data[v // 2] = -math.inf
            targets[0] = v // 2
    leaves = [hidden, weight] + ([options["bias"]] if "bias" in options else [])
    ours = token_nll(hidden, weight, targets, impl="triton", return_entropy=True, **options)
    exact = {name: value.double() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    true = token_nll(hidden.double(), weight.double(), targets, return_entropy=True, **exact)
    plain = {**exact, "bias": exact["bias"].float()} if "bias" in exact else exact
    torchs = token_nll(hidden.float(), weight.float(), targets, impl="torch", return_entropy=True, **plain)
    apart = torch.finfo(dtype).eps  # of a probability: the backward pass computes logits again, by another product
    for our, their, right in zip(ours, torchs, true, strict=True):
        assert torch.equal(our.isinf(), right.isinf())
        fine = right.isfinite()
        error, allowed = ((part.double() - right)[fine].abs().max() for part in (our, their))
        assert error <= allowed + 1e-5, (shape, options, dtype, error, allowed)
        apart += float((error + allowed).detach())
    again = token_nll(hidden, weight, targets, impl="triton", return_entropy=True, **options)
    assert all(torch.equal(one, other) for one, other in zip(ours, again, strict=True))
    assert torch.equal(ours[0], token_nll(hidden, weight, targets, impl="triton", **options))
    if device == "cpu" and dtype != torch.float32:  # its logits are rounded, and those of the interpreter are not
        return
    half = token_nll(hidden, weight, targets, impl="torch", return_entropy=True, **options)
    gradients = [
        torch.autograd.grad(sum(part[part.isfinite()].sum() for part in results), leaves)
        for results in (ours, half, true)
    ]
    for our, their, right in zip(*gradients, strict=True):
        error, allowed = ((part.double() - right).abs().max() for part in (our, their))
        assert error <= allowed + 1e-5 + apart * right.abs().max(), (shape, options, dtype)
