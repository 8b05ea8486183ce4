"""The neural long-term memory of Titans as a module (Behrouz et al. 2025, "Titans: Learning to Memorize at Test Time").

Shape legend: B streams, T tokens, D = `dim`, H = `heads`, W = D / H width of a head.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_kernels import flush_memory, memory_scan
from nscma_kernels.memory_layers import gradients
from nscma_torch.core.errors import InvalidInputError, described
from nscma_torch.core.tensor_files import all_tensors, open_tensors, save_module
from nscma_torch.neural.state import NeuralMemoryState


class NeuralMemory(nn.Module):
    """A perceptron for each head and stream, with weights that are written while the stream is read.

    Each head has queries, keys and values of x normalised to mean square 1, q = scale_q rms(x Q), k = scale_k rms(x K),
    v = x V, and in the notation of the paper (equations 9 to 15)

        theta_t = max_step sigmoid(x T) / W    eta_t = sigmoid(x E)    alpha_t = sigmoid(x A)
        S_t = eta_t S_{t-1} - theta_t grad ||M(k_t) - v_t||^2          M_t = (1 - alpha_t) M_{t-1} + S_t
        y_t = [ sigmoid(x G) M_t(q_t) ] O

    where [ ] concatenates heads, and Q, K, V, T, E, A, G, O and the initial M are parameters. The projections are
    ordinary layers, which take x in their own dtype, or in any dtype under autocast. The memory itself is in the state,
    in float32 (float64 if the module is float64), regardless of the surrounding dtype or autocast. If no state is
    given, a fresh one is created. The module keeps nothing between calls.

    `torch.compile(fullgraph=True)` compiles the module to one graph, in which the recurrence is one operator. The
    backward pass is unrolled by chunk, so compiling with gradients takes longer for sequences with more chunks.

    Args:
        dim: D, width of inputs and outputs.
        heads: H, number of memories that share the width; a divisor of `dim`.
        expansion: hidden width of a memory / W.
        depth: number of layers of a memory; 1 is a linear memory, M(k) = k M.
        segment: number of tokens for which gradients are computed in one batch, at the weights at the segment's start.
            1 is the recurrence above, token by token; None computes all gradients at the initial weights.
        chunk: number of tokens written as one step, with a theta for each token and the means of x E and x A. It must
            divide the segment; by default, it equals the segment. A token reads only what full chunks have written, so
            a sequence shorter than a chunk doesn't train the writing parameters (K, V, T, E and A get no gradient).
        norm: recall k + norm(M(k)) instead of M(k), in the loss too. Without it, the summed steps of a chunk can
            diverge on a repetitive stream.
        max_step: the largest value of theta W.

    Raises:
        InvalidInputError: a size is not positive, or one does not divide the other.
    """

    def __init__(
        self,
        dim: int,
        *,
        heads: int = 1,
        expansion: float = 4,
        depth: int = 2,
        segment: int | None = 64,
        chunk: int | None = None,
        norm: bool = True,
        max_step: float = 1.0,
    ) -> None:
        super().__init__()
        self._arguments = {
            **{"dim": dim, "heads": heads, "expansion": expansion, "depth": depth},
            **{"segment": segment, "chunk": chunk, "norm": norm, "max_step": max_step},
        }
        if not isinstance(norm, bool):
            raise InvalidInputError(f"norm must be True or False, got {norm!r}")
        for name, value in self._arguments.items():
            if name == "norm" or (value is None and name in ("segment", "chunk")):
                continue
            wanted, said = (int | float, "number") if name in ("expansion", "max_step") else (int, "integer")
            if isinstance(value, bool) or not isinstance(value, wanted) or not 0 < value < math.inf:
                raise InvalidInputError(f"{name} must be a positive {said}, got {value!r}")
        if dim % heads:
            raise InvalidInputError(f"dim must be a multiple of heads, got {dim} and {heads}")
        if segment is None and chunk is None:
            raise InvalidInputError("segment=None (gradients always at the first weights) needs a chunk")
        if segment is not None and segment % (chunk or segment):
            raise InvalidInputError(f"segment must be a multiple of chunk, got {segment} and {chunk}")
        self.dim, self.heads, self.width = dim, heads, dim // heads
        self.segment, self.chunk, self.norm, self.max_step = segment, chunk, norm, max_step
        hidden = max(1, round(expansion * self.width))
        widths = [self.width, *[hidden] * (depth - 1), self.width]
        self.to_queries = nn.Linear(dim, dim, bias=False)
        self.to_keys = nn.Linear(dim, dim, bias=False)
        self.to_values = nn.Linear(dim, dim, bias=False)
        self.query_scale = nn.Parameter(torch.ones(heads, self.width))
        self.key_scale = nn.Parameter(torch.ones(heads, self.width))
        self.to_step = nn.Linear(dim, heads)
        self.to_momentum = nn.Linear(dim, heads)
        self.to_decay = nn.Linear(dim, heads)
        self.to_gate = nn.Linear(dim, heads)
        self.combine = nn.Linear(dim, dim, bias=False)
        self.memory = nn.ParameterList(torch.empty(heads, into, out) for into, out in pairwise(widths))
        for weight in self.memory:
            bound = math.sqrt(6 / sum(weight.shape[1:]))  # Glorot's, of a head
            nn.init.uniform_(weight, -bound, bound)
        nn.init.constant_(self.to_step.bias, -2.0)
        nn.init.constant_(self.to_decay.bias, -6.0)

    def init_state(self, batch: int) -> NeuralMemoryState:
        """Return the state for streams that have read nothing. Gradients flow from it into the module's initial
        weights.

        Raises `InvalidInputError` if `batch` is not positive.
        """
        if not isinstance(batch, int) or batch < 1:
            raise InvalidInputError(f"batch must be a positive integer, got {batch!r}")
        weights = tuple(weight.to(self._kind).repeat(batch, 1, 1) for weight in self.memory)
        fresh = NeuralMemoryState.fresh(weights, norm=self.norm)
        return replace(fresh, segment=self.segment, chunk=self.chunk or self.segment)

    def forward(
        self,
        x: Tensor,  # [B, T, D]
        state: NeuralMemoryState | None = None,
        *,
        store_mask: Tensor | None = None,  # [B, T] bool
        return_surprise: bool = False,
    ) -> tuple[Tensor, NeuralMemoryState] | tuple[Tensor, NeuralMemoryState, Tensor]:
        """Read and write the tokens of x, in order.

        Two calls that pass the state on give the same result as one call with both inputs. A token with a false
        `store_mask` is only read: it changes nothing, whatever its values. If it isn't finite, it is read as zeros.

        Returns:
            y [B, T, D] in the dtype of the projections, the state after x and, if requested, the surprise [B, T]
            float32: the mean of (M(k) - v)^2 over heads and width, at the weights at the segment's start.

        Raises:
            InvalidInputError: shapes, dtypes or devices don't match, or the state belongs to another module.
        """
        self._check(x, state, store_mask)
        batch, length = x.shape[:2]
        if state is None:
            state = self.init_state(batch)
        if store_mask is not None:  # 0 * NaN is NaN: kept out of the gradients of the projections too
            x = torch.where((store_mask | x.isfinite().all(-1))[..., None], x, 0)
        x = functional.rms_norm(x, (self.dim,))
        q = self._split(self.to_queries(x), self.query_scale)
        k, v = self._associated(x)
        kind = state.weights[0].dtype
        gates = (gate(x).to(kind).mT for gate in (self.to_step, self.to_momentum, self.to_decay))
        step, eta, alpha = (gate.reshape(batch * self.heads, length) for gate in gates)
        theta = step.sigmoid() * (self.max_step / self.width)
        stored = None if store_mask is None else store_mask.repeat_interleave(self.heads, 0)
        out, state, loss = memory_scan(
            q, k, v, theta, eta, alpha, state, segment=self.segment, chunk=self.chunk, store_mask=stored
        )
        gate = self.to_gate(x).sigmoid()
        out = out.view(batch, self.heads, length, self.width).transpose(1, 2) * gate[..., None]
        y = self.combine(out.flatten(2).to(gate.dtype))
        if return_surprise:
            return y, state, loss.view(batch, self.heads, length).mean(1).float() / self.width
        return y, state

    def gradient_norm(
        self,
        x: Tensor,  # [B, T, D]
        state: NeuralMemoryState,
    ) -> Tensor:
        """Return the momentary surprise [B, T] of each token: the norm of grad ||M(k_t) - v_t||^2 at the state's
        weights.

        The gradient is taken with respect to all weights in the stream's memories, without theta (Titans, equation 8).
        Nothing is written.

        Raises `InvalidInputError` like `forward`.
        """
        self._check(x, state, None)
        k, v = self._associated(functional.rms_norm(x, (self.dim,)))
        kind = state.weights[0].dtype
        k, v = k.to(kind), v.to(kind)
        found = gradients(k, v, torch.ones_like(k[..., 0]), state.weights, self.norm)
        squares = [
            inputs.square().sum(-1) * delta.square().sum(-1)  # of an outer product
            for inputs, delta in zip(found.inputs, found.delta, strict=True)
        ]
        return torch.stack(squares).sum(0).view(len(x), self.heads, -1).sum(1).sqrt()

    def flush(self, state: NeuralMemoryState) -> NeuralMemoryState:
        """Write the tokens that are waiting for their chunk to fill, for example at the end of a conversation.

        Raises `InvalidInputError` if the state belongs to another module.
        """
        streams = len(state.weights[0]) // self.heads if isinstance(state, NeuralMemoryState) else 1
        self._check_state(state, streams)
        return flush_memory(state, segment=self.segment, chunk=self.chunk)

    def save(self, path: str | Path) -> None:
        """Write the arguments and parameters to a safetensors file."""
        save_module(self, path, arguments=self._arguments)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a module written by `save`, with its tensors on the CPU.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file contains something else.
        """
        missing = f"no neural memory at {path}: write one with NeuralMemory.save"
        with open_tensors(path, "a NeuralMemory", missing=missing) as file:
            module = cls(**json.loads(file.metadata()["arguments"]))
            tensors = all_tensors(file)
            module.to(tensors["combine.weight"].dtype).load_state_dict(tensors)
        return module

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self._arguments.items())

    def _associated(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the normalised keys and the values, each [B * H, T, W], for inputs [B, T, D]."""
        return self._split(self.to_keys(x), self.key_scale), self._split(self.to_values(x), None)

    def _split(self, x: Tensor, scale: Tensor | None) -> Tensor:
        """Map [B, T, D] to [B * H, T, W], normalised to mean square 1 and scaled."""
        x = x.view(*x.shape[:2], self.heads, self.width)
        if scale is not None:
            x = functional.rms_norm(x, (self.width,)) * scale
        return x.transpose(1, 2).flatten(0, 1)

    def _check(self, x: Tensor, state: NeuralMemoryState | None, store_mask: Tensor | None) -> None:
        if not isinstance(x, Tensor) or x.ndim != 3 or x.shape[2] != self.dim or not x.is_floating_point():
            raise InvalidInputError(f"x must be a tensor [B, T, {self.dim}] of a float dtype, got {described(x)}")
        if store_mask is not None and (
            not isinstance(store_mask, Tensor) or store_mask.shape != x.shape[:2] or store_mask.dtype != torch.bool
        ):
            raise InvalidInputError(
                f"store_mask must be a tensor {[*x.shape[:2]]} of bool, got {described(store_mask)}"
            )
        kinds = {x.dtype, self.to_keys.weight.dtype}
        if len(kinds) > 1 and (torch.float64 in kinds or not torch.is_autocast_enabled(x.device.type)):
            raise InvalidInputError(
                f"x is {x.dtype} and the module {self.to_keys.weight.dtype}: convert one with .to, or, of float32,"
                " float16 and bfloat16, run under torch.autocast"
            )
        if state is None:
            return
        self._check_state(state, len(x))
        if state.weights[0].device != x.device:
            raise InvalidInputError(f"x is on {x.device} and the state on {state.weights[0].device}: move one with .to")

    def _check_state(self, state: NeuralMemoryState, batch: int) -> None:
        if not isinstance(state, NeuralMemoryState):
            raise InvalidInputError(
                f"state must be a NeuralMemoryState, such as init_state({batch}), got {described(state)}"
            )
        shapes = [(batch * self.heads, *weight.shape[1:]) for weight in self.memory]
        if [weight.shape for weight in state.weights] != shapes or state.norm != self.norm:
            raise InvalidInputError(
                f"the state doesn't match this module and {batch} streams: its weights are"
                f" {[[*weight.shape] for weight in state.weights]}; start with init_state({batch})"
            )
        if (state.segment, state.chunk) != (self.segment, self.chunk or self.segment):
            raise InvalidInputError(
                f"the state has segment={state.segment}, chunk={state.chunk}, not of this module's"
                f" segment={self.segment}, chunk={self.chunk or self.segment}; start with init_state({batch})"
            )
        if state.weights[0].dtype != self._kind:
            raise InvalidInputError(
                f"the state is {state.weights[0].dtype}, that of a {self.memory[0].dtype} module is {self._kind};"
                f" start with init_state({batch}), or convert the module with .to"
            )

    @property
    def _kind(self) -> torch.dtype:
        """Return the dtype of this module's states."""
        return torch.float64 if self.memory[0].dtype == torch.float64 else torch.float32
