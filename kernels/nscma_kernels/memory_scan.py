"""A memory that learns at test time: the neural long-term memory of Titans, chunk by chunk.

Behrouz et al. 2025, "Titans: Learning to Memorize at Test Time", section 3: the memory M is a perceptron with weights W
that are written by gradient descent on l(W; k, v) = ||M(k) - v||^2, with momentum S (past surprise) and forgetting,

    S_t = eta_t S_{t-1} - theta_t grad l(W; k_t, v_t)      W_t = (1 - alpha_t) W_{t-1} + S_t      y_t = M_t(q_t).

The gradient is taken at the weights at the start of a segment (their section 3.2), so all tokens in a segment are one
batch; `segment=1` is the recurrence token by token. A chunk is the number of tokens written as one step: their
gradients, each with its own theta, are summed, with one eta and one alpha for all ("parameters as functions of chunks",
section 3.2). A query reads the weights after the last full chunk, including the chunk that its own token completes.

titans-pytorch takes the same steps: its `chunk_size` is our `chunk`, its `batch_size` is our `segment` (with None, the
gradient is always taken at the initial weights), and its theta is ours times D, because its loss is a mean.

Legend: B memories, T tokens, D and E width of keys and values, P pending tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from nscma_kernels.implementation import Impl, on_triton
from nscma_kernels.memory_layers import recall, squared_error
from nscma_kernels.memory_recurrence import Plan, Tokens, chunk_recurrence
from nscma_kernels.memory_state import MemoryState, Pending

State = TypeVar("State", bound=MemoryState)


def memory_scan(
    q: Tensor,  # [B, T, D]
    k: Tensor,  # [B, T, D]
    v: Tensor,  # [B, T, E]
    theta: Tensor,  # [B, T] step sizes
    eta: Tensor,  # [B, T] logits of the momentum kept
    alpha: Tensor,  # [B, T] logits of the share forgotten
    state: State,
    *,
    segment: int | None,
    chunk: int | None = None,
    store_mask: Tensor | None = None,  # [B, T] bool
    impl: Impl = "auto",
) -> tuple[Tensor, State, Tensor]:
    """Read with `q` and write (`k`, `v`), token by token, starting from a state; return the new state.

    A chunk's eta and alpha are the sigmoid of the mean of its tokens' logits; a logit of -inf gives zero. A token with
    a false `store_mask` is only read: it is excluded from gradients and means, and a chunk of such tokens leaves
    weights and momentum exactly unchanged. Its q, k or v counts as zeros if it isn't finite. Tokens in an incomplete
    chunk wait in the state, so a sequence gives the same result in two calls as in one, up to rounding; `flush_memory`
    writes them at once.

    Everything is computed in the state's dtype. It is differentiable once with respect to all tensors, including the
    state's. In addition to inputs and outputs, it needs memory for one copy of W, S and the base, and for the layers of
    about 256 tokens, regardless of the sequence length. The backward pass needs about 2 sqrt(T / chunk) copies of W and
    S.

    Args:
        segment: number of tokens after which the gradient is taken at newer weights, a multiple of the chunk; None
            means never.
        chunk: number of tokens written as one step, by default the segment. It may change only if nothing is pending.
        impl: implementation of the step that updates S and W; everything else is matrix products. float64 always uses
            plain torch.

    Returns:
        Outputs [B, T, E], the state after the last token, and the surprise [B, T]: each token's loss at the weights at
        the start of its segment.

    Raises:
        ValueError: shapes, dtypes, segment, chunk or `impl` are invalid, or don't match the state.
    """
    plan = _plan(state, segment, chunk, q.shape[1] if q.ndim == 3 else 0, on_triton(impl, q))
    _check(q, k, v, theta, eta, alpha, state, store_mask)
    dtype = state.weights[0].dtype
    q, k, v, theta, eta, alpha = (tensor.to(dtype) for tensor in (q, k, v, theta, eta, alpha))
    if store_mask is not None:  # 0 * NaN is NaN: a step of zero does not keep it out of the weights
        q, k, v = (torch.where((store_mask | x.isfinite().all(-1))[..., None], x, 0) for x in (q, k, v))
    waiting, length = state.pending.k.shape[1], k.shape[1]
    with torch.autocast(q.device.type, enabled=False):
        pending = _join(state.pending, Pending(k, v, theta, eta, alpha, store_mask))
        full = (waiting + length) // plan.chunk * plan.chunk
        if full == 0:
            return (
                recall(q, state.weights, state.norm),
                replace(state, pending=pending),
                squared_error(k, v, state.base, state.norm),
            )
        out, loss, after = _write(plan, q, _part(pending, slice(0, full)), state)
        rest = _part(pending, slice(full, None))
        surprise = torch.cat([loss[:, waiting:], squared_error(rest.k, rest.v, after.base, state.norm)], 1)
        return out, replace(after, pending=rest), surprise


def flush_memory(state: State, *, segment: int | None, chunk: int | None = None, impl: Impl = "auto") -> State:
    """Write the pending tokens now, as one short chunk, which counts as a whole chunk in the segment.

    Raises `ValueError` like `memory_scan`.
    """
    plan = _plan(state, segment, chunk, 0, on_triton(impl, state.weights[0]))
    waiting = state.pending.k.shape[1]
    if waiting == 0:
        return state
    plan = plan._replace(chunk=waiting)
    with torch.autocast(state.weights[0].device.type, enabled=False):
        _, _, after = _write(plan, state.pending.k[:, :0], state.pending, state)
    position = 0 if segment is None else (state.position + (chunk or segment)) % segment
    return replace(after, pending=_part(state.pending, slice(waiting, None)), position=position)


def _plan(state: MemoryState, segment: int | None, chunk: int | None, length: int, triton: bool) -> Plan:
    size = segment if chunk is None else chunk
    if size is None:
        raise ValueError("segment=None (gradients always at the initial weights) needs a chunk")
    if size < 1 or (segment is not None and (segment < 1 or segment % size)):
        raise ValueError(f"segment must be a positive multiple of chunk, got segment={segment}, chunk={chunk}")
    waiting = state.pending.k.shape[1]
    if waiting >= size or (segment is not None and (state.position % size or state.position >= segment)):
        raise ValueError(
            f"the state was produced with a different chunk or segment length: it has {waiting} pending tokens at token"
            f" {state.position} of its segment, which is impossible with segment={segment}, chunk={chunk}"
        )
    return Plan(
        chunk=size,
        segment=None if segment is None else segment // size,
        done=state.position // size,
        norm=state.norm,
        first=min(length, size - waiting - 1),
        triton=triton and state.weights[0].dtype == torch.float32,
    )


def _write(plan: Plan, q: Tensor, tokens: Pending, state: State) -> tuple[Tensor, Tensor, State]:
    """Return the outputs, the losses of the tokens, and the state after them, with the same pending tokens."""
    batch, number = len(q), tokens.k.shape[1] // plan.chunk
    if tokens.stored is None:
        theta, written = tokens.theta, None
        eta, alpha = (gate.view(batch, number, -1).mean(-1).sigmoid() for gate in (tokens.eta, tokens.alpha))
    else:
        stored = tokens.stored.view(batch, number, -1)
        theta = torch.where(tokens.stored, tokens.theta, 0)
        count, some = stored.sum(-1).clamp(min=1), stored.any(-1)
        eta, alpha = (
            (torch.where(stored, gate.view(batch, number, -1), 0).sum(-1) / count).sigmoid()
            for gate in (tokens.eta, tokens.alpha)
        )
        eta, alpha, written = torch.where(some, eta, 1), torch.where(some, alpha, 0), some.to(eta.dtype)
    given = Tokens(tokens.k, tokens.v, theta, eta, 1 - alpha, written)
    out, loss, weights, momentum, base = chunk_recurrence(plan, q, given, state.weights, state.momentum, state.base)
    position = 0 if plan.segment is None else (plan.done + number) % plan.segment * plan.chunk
    after = replace(state, weights=tuple(weights), momentum=tuple(momentum), base=tuple(base), position=position)
    return out, loss, after


def _join(one: Pending, other: Pending) -> Pending:
    if one.k.shape[1] == 0:
        return other
    stored = None
    if one.stored is not None or other.stored is not None:
        parts = [
            torch.ones_like(part.theta, dtype=torch.bool) if part.stored is None else part.stored
            for part in (one, other)
        ]
        stored = torch.cat(parts, 1)
    return Pending(
        k=torch.cat([one.k, other.k], 1),
        v=torch.cat([one.v, other.v], 1),
        theta=torch.cat([one.theta, other.theta], 1),
        eta=torch.cat([one.eta, other.eta], 1),
        alpha=torch.cat([one.alpha, other.alpha], 1),
        stored=stored,
    )


def _part(tokens: Pending, part: slice) -> Pending:
    k, v, theta, eta, alpha, stored = (None if tensor is None else tensor[:, part] for tensor in tokens)
    assert k is not None and v is not None and theta is not None and eta is not None and alpha is not None
    return Pending(k, v, theta, eta, alpha, stored if stored is not None and stored.numel() else None)


def _check(
    q: Tensor, k: Tensor, v: Tensor, theta: Tensor, eta: Tensor, alpha: Tensor, state: MemoryState, mask: Tensor | None
) -> None:
    batch, keys, values = len(state.weights[0]), state.weights[0].shape[1], state.weights[-1].shape[2]
    if q.ndim != 3 or q.shape != k.shape or k.shape[2] != keys or k.shape[0] != batch:
        raise ValueError(f"q and k must be [{batch}, T, {keys}] as the state's, got {[*q.shape]} and {[*k.shape]}")
    if v.shape != (*k.shape[:2], values):
        raise ValueError(f"v must be {[*k.shape[:2], values]}, got {[*v.shape]}")
    for name, gate in (("theta", theta), ("eta", eta), ("alpha", alpha)):
        if gate.shape != k.shape[:2]:
            raise ValueError(f"{name} must be {[*k.shape[:2]]}, one number per token, got {[*gate.shape]}")
    if mask is not None and (mask.shape != k.shape[:2] or mask.dtype != torch.bool):
        raise ValueError(f"store_mask must be {[*k.shape[:2]]} bool, got {[*mask.shape]} {mask.dtype}")
    devices = {tensor.device for tensor in (q, k, v, theta, eta, alpha, *state.weights)}
    if len(devices) > 1:
        raise ValueError(f"all tensors must be on one device, these are on {sorted(map(str, devices))}")
