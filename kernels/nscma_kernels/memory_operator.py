"""The recurrence of `memory_scan` as a torch operator, which `torch.compile` treats as a single unit.

Dynamo in torch 2.13 can't trace an `autograd.Function` if its backward pass calls `torch.autograd.grad`, as the
recurrence does for each chunk. Without a compiler, the same code runs as such a function.

Legend as in `memory_recurrence`. A plan is passed as its six fields, and memory as the concatenation of W, S and base.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nscma_kernels.memory_recurrence import Plan, Tokens, run_backward, run_forward


@torch.library.custom_op("nscma::memory_forward", mutates_args=())
def memory_forward(
    chunk: int,
    segment: int | None,
    done: int,
    first: int,
    norm: bool,
    triton: bool,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    theta: Tensor,
    eta: Tensor,
    keep: Tensor,
    written: Tensor | None,
    memory: list[Tensor],
) -> list[Tensor]:
    """Run the forward pass; return the same as `run_forward`."""
    plan = Plan(chunk, segment, done, first, norm, triton)
    return [*run_forward(plan, q, Tokens(k, v, theta, eta, keep, written), memory)]


@memory_forward.register_fake
def _(
    chunk: int,
    segment: int | None,
    done: int,
    first: int,
    norm: bool,
    triton: bool,
    q: Tensor,
    _k: Tensor,
    _v: Tensor,
    theta: Tensor,
    eta: Tensor,
    _keep: Tensor,
    _written: Tensor | None,
    memory: list[Tensor],
) -> list[Tensor]:
    plan, depth = Plan(chunk, segment, done, first, norm, triton), len(memory) // 3
    kept = memory[2 * depth :] if plan.keeps_base(eta.shape[1]) else []
    out = q.new_empty(*q.shape[:2], memory[depth - 1].shape[2])
    made = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in memory[: 2 * depth] + kept]
    return [out, torch.empty_like(theta), *made]


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:  # noqa: ARG001
    *plan, q, k, v, theta, eta, keep, written, memory = inputs
    ctx.plan = plan
    ctx.save_for_backward(q, k, v, theta, eta, keep, written, *memory)


def _backward(ctx: Any, grads: list[Tensor | None]) -> tuple[Any, ...]:
    q, k, v, theta, eta, keep, written, *memory = ctx.saved_tensors
    plan, tokens = Plan(*ctx.plan)._replace(triton=False), Tokens(k, v, theta, eta, keep, written)  # it is traced
    found = run_backward(plan, q, tokens, memory, grads)
    return (*[None] * len(plan), *found[:7], found[7:])


memory_forward.register_autograd(_backward, setup_context=_setup_context)
