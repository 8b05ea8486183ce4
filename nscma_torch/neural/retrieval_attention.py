"""Attention to the k nearest keys of a stream's earlier tokens (Wu et al. 2022, "Memorizing Transformers").

Shape legend: B streams, T tokens, D = `dim`, H = `heads`, W = D / H width of a head, N cached tokens, S = `segment`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_kernels.pytree import as_pytree
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.neural.nearest import NONE, attend_to, nearest_rows


@as_pytree("first", "waiting")
@dataclass(frozen=True)
class KeyValueState:
    """Immutable keys and values stored from B streams."""

    keys: Tensor  # [B, H, N, W]
    values: Tensor  # [B, H, N, W]
    stored: Tensor  # [B, N] bool; false: padding, or deleted
    first: int = 0  # number of the first cached token in its stream
    waiting: int = 0  # cached tokens, the last ones, of a segment that is not full: not yet searched

    def map(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the state with `change` applied to every tensor."""
        return replace(self, keys=change(self.keys), values=change(self.values), stored=change(self.stored))

    def select(self, rows: Tensor, _batch: int) -> Self:  # rows: [B'] int64
        """Return the state for a selection of the streams, in any order, possibly repeated."""
        return self.map(lambda tensor: tensor[rows])

    def joined(self, keys: Tensor, values: Tensor, stored: Tensor) -> Self:
        """Return the state with tokens appended; they wait until their segment is full.

        Keys and values are [B, H, T, W], `stored` is [B, T].
        """
        return replace(
            self,
            keys=torch.cat([self.keys, keys.to(self.keys.dtype)], 2),
            values=torch.cat([self.values, values.to(self.values.dtype)], 2),
            stored=torch.cat([self.stored, stored], 1),
            waiting=self.waiting + stored.shape[1],
        )

    def kept(self, tokens: int) -> Self:
        """Return the state with only the last tokens."""
        less = max(0, self.stored.shape[1] - tokens)
        cut = replace(self, keys=self.keys[:, :, less:], values=self.values[:, :, less:], stored=self.stored[:, less:])
        return replace(cut, first=self.first + less)

    def without(self, stream: int, tokens: Tensor) -> Self:  # tokens: [n] int64
        """Return the state with these tokens of a stream, numbered from its first token, overwritten by zeros."""
        gone = torch.zeros_like(self.stored)
        gone[stream] = torch.isin(torch.arange(self.stored.shape[1], device=tokens.device) + self.first, tokens)
        keys, values = (part.masked_fill(gone[:, None, :, None], 0) for part in (self.keys, self.values))
        return replace(self, keys=keys, values=values, stored=self.stored & ~gone)


torch.serialization.add_safe_globals([KeyValueState])  # so that kept states load with weights_only


class RetrievalAttention(nn.Module):
    """Attention from each token to the exact k nearest keys in the full segments before its own.

    For each head, with x normalised to mean square 1, q = scale_q rms(x Q), k = scale_k rms(x K), v = x V, and j over
    the tokens with the k largest <q_t, k_j>:

        m_t = sum_j softmax_j(<q_t, k_j> / sqrt(W)) v_j            y_t = [ m_t ] O

    where [ ] concatenates heads. A token in the first segment recalls nothing, so its m is 0. Gradients also flow to
    the keys and values of earlier tokens. The paper treats keys and values from earlier calls as constants; detach the
    state for that.

    Args:
        dim: D.
        heads: H, which must divide `dim`.
        k: number of keys that a token attends to.
        segment: S, number of tokens after which the tokens become searchable.
        capacity: number of newest tokens kept per stream, a multiple of the segment; None for all.

    Raises:
        InvalidInputError: a size is not a positive integer, or one does not divide the other.
    """

    def __init__(
        self, dim: int, *, heads: int = 1, k: int = 32, segment: int = 64, capacity: int | None = None
    ) -> None:
        super().__init__()
        sizes = {"dim": dim, "heads": heads, "k": k, "segment": segment, "capacity": capacity}
        for name, size in sizes.items():
            if size is None and name == "capacity":
                continue
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise InvalidInputError(f"{name} must be a positive integer, got {size!r}")
        if dim % heads:
            raise InvalidInputError(f"dim must be a multiple of heads, got {dim} and {heads}")
        if capacity is not None and capacity % segment:
            raise InvalidInputError(f"capacity must be a multiple of segment, got {capacity} and {segment}")
        self.dim, self.heads, self.width = dim, heads, dim // heads
        self.k, self.segment, self.capacity = k, segment, capacity
        self.to_queries = nn.Linear(dim, dim, bias=False)
        self.to_keys = nn.Linear(dim, dim, bias=False)
        self.to_values = nn.Linear(dim, dim, bias=False)
        self.query_scale = nn.Parameter(torch.ones(heads, self.width))
        self.key_scale = nn.Parameter(torch.ones(heads, self.width))
        self.combine = nn.Linear(dim, dim, bias=False)

    def init_state(self, batch: int) -> KeyValueState:
        """Return the state for streams that have read nothing."""
        nothing = self.combine.weight.new_zeros(batch, self.heads, 0, self.width)
        return KeyValueState(nothing, nothing, torch.ones(batch, 0, dtype=torch.bool, device=nothing.device))

    def forward(
        self,
        x: Tensor,  # [B, T, D]
        state: KeyValueState,
        *,
        store_mask: Tensor | None = None,  # [B, T] bool
    ) -> tuple[Tensor, KeyValueState]:
        """Return y [B, T, D] and the state after x. Tokens with a false `store_mask` (padding) are never recalled."""
        batch, length = x.shape[:2]
        x = functional.rms_norm(x, (self.dim,))
        queries = self._split(self.to_queries(x), self.query_scale)
        keys = self._split(self.to_keys(x), self.key_scale)
        values = self._split(self.to_values(x), None)
        stored = store_mask if store_mask is not None else torch.ones(batch, length, dtype=torch.bool, device=x.device)
        recalled, at = [], 0
        while at < length:
            until = min(length, at + self.segment - state.waiting)
            recalled.append(self._attend(queries[:, :, at:until], state))
            state = state.joined(keys[:, :, at:until], values[:, :, at:until], stored[:, at:until])
            if state.waiting == self.segment:
                state = replace(state, waiting=0)
                state = state if self.capacity is None else state.kept(self.capacity)
            at = until
        y = torch.cat(recalled, 2).transpose(1, 2).flatten(2)
        return self.combine(y.to(self.combine.weight.dtype)), state

    def _attend(self, queries: Tensor, state: KeyValueState) -> Tensor:
        """Return m [B, H, t, W] for queries [B, H, t, W]."""
        batch, heads, tokens, width = queries.shape
        number = state.stored.shape[1] - state.waiting
        if number == 0:
            return torch.zeros_like(queries)
        keys, values = (part[:, :, :number].reshape(-1, width) for part in (state.keys, state.values))
        memories = torch.arange(batch * heads, device=queries.device)
        owners = memories.view(batch, heads, 1).where(state.stored[:, None, :number], NONE).flatten()
        flat = queries.reshape(-1, width)
        rows = nearest_rows(flat.detach(), keys.detach(), owners, memories.repeat_interleave(tokens), self.k)
        weights = attend_to(flat, keys, rows, width**-0.5)
        chosen = values[rows.clamp(min=0)].to(weights.dtype)
        return (weights[..., None] * chosen).sum(1).view(batch, heads, tokens, width).to(queries.dtype)

    def _split(self, x: Tensor, scale: Tensor | None) -> Tensor:
        """Map [B, T, D] to [B, H, T, W], normalised to mean square 1 and scaled."""
        x = x.view(*x.shape[:2], self.heads, self.width)
        if scale is not None:
            x = functional.rms_norm(x, (self.width,)) * scale
        return x.transpose(1, 2)
