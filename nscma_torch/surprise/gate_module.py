"""The surprise gate as a module for any model: it maps numbers to decisions, without text or a store.

Shape legend: B streams, T tokens in one input, V words, d width, N = `window` inputs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_kernels import token_nll
from nscma_torch.core.errors import InvalidInputError, described
from nscma_torch.surprise.gate_module_state import SurpriseGateState
from nscma_torch.surprise.paper_rule import limit, moments

SCORES = ("paper", "information")


class Gating(NamedTuple):
    """The decision of `SurpriseGate` on one input per stream. `write` is `score > threshold`, and false for NaN."""

    write: Tensor  # [B] bool
    surprise: Tensor  # [B] float32, S, nats per token; gradients flow to the NLL
    score: Tensor  # [B] float32, compared by the rule: the surprise, or ln nats
    threshold: Tensor  # [B] float32, -inf during the warm-up; mu + lambda * sigma rounded down
    state: SurpriseGateState  # after these inputs


class SurpriseGate(nn.Module):
    """Selects the inputs in a stream that are worth writing, as in NSCMA section 3.2, from any language model's
    numbers.

    Each call takes one input, of T tokens, from each of B streams:

        S = -(1/L) sum log P(w_i | w_<i, h)    over the input's L unmasked tokens
        write = S > mu + lambda * sigma        mu, sigma over the N preceding inputs in that stream

    The rule `information` compares ln(max(sum of NLL, 1 nat)) instead of S, because a mean hides how much is said.
    Internally, NLL is float32, and mu and sigma are float64, regardless of the model's dtype. The module has no
    parameters and no buffers, so it adds nothing to a `state_dict`, and earlier checkpoints still load. Its only state
    is passed in and returned.

    - An input that has no counted tokens, or has NaN as its NLL, is not written and not remembered.
    - A token with probability zero makes S infinite. The input is then always written, and not remembered.
    - With constant surprise, sigma is 0 and no input exceeds the threshold.

    >>> import torch
    >>> from nscma_torch import NeuralMemory, SurpriseGate
    >>> _ = torch.manual_seed(0)
    >>> gate, memory = SurpriseGate(lam=0.5, warmup=1), NeuralMemory(32, segment=4)
    >>> x, vocabulary = torch.randn(2, 12, 32), torch.randn(50, 32)  # hidden states of a model, its output weight
    >>> targets = torch.randint(50, (2, 12))
    >>> first = gate.from_hidden(x, vocabulary, targets)
    >>> logits = x @ vocabulary.T
    >>> second = gate.from_logits(logits, torch.stack([logits[0].argmax(-1), logits[1].argmin(-1)]), first.state)
    >>> first.write.tolist(), second.write.tolist()
    ([True, True], [False, True])
    >>> y, state = memory(x, store_mask=second.write[:, None].expand(2, 12))

    Args:
        rule: "paper" or "information".
        lam: lambda, in standard deviations.
        window: N.
        warmup: number of initial inputs in a stream that are always written, at most `window`.

    Raises:
        InvalidInputError: an argument is unknown or out of range.
    """

    def __init__(self, rule: str = "paper", *, lam: float = 0.0, window: int = 64, warmup: int = 8) -> None:
        super().__init__()
        if not isinstance(rule, str) or rule not in SCORES:
            raise InvalidInputError(f"unknown rule {rule!r}: choose one of {', '.join(SCORES)}")
        if not isinstance(lam, int | float) or not math.isfinite(lam):
            raise InvalidInputError(f"lam must be a finite number, got {lam!r}")
        for name, value in (("window", window), ("warmup", warmup)):
            if not isinstance(value, int):
                raise InvalidInputError(f"{name} must be a whole number of inputs, got {value!r}")
        if not 1 <= warmup <= window:
            raise InvalidInputError(f"warmup must be in 1 .. window, got {warmup} and window {window}")
        self.rule, self.lam, self.window, self.warmup = rule, lam, window, warmup

    def init_state(self, batch: int, device: str | torch.device | None = None) -> SurpriseGateState:
        """Return the state for `batch` streams that have had no input yet."""
        if not isinstance(batch, int) or batch < 0:
            raise InvalidInputError(f"batch must be a non-negative integer, got {batch!r}")
        count = torch.zeros(batch, dtype=torch.int64, device=device)
        return SurpriseGateState(torch.zeros(batch, self.window, device=device), count, self.rule)

    def forward(
        self,
        nll: Tensor,  # [B, T] nats
        state: SurpriseGateState | None = None,
        *,
        mask: Tensor | None = None,  # [B, T] bool, true where a token counts
    ) -> Gating:
        """Decide from the negative log-likelihood of each token. Tokens with a false `mask` are ignored.

        Without a state, new streams begin. Raises `InvalidInputError` if shapes, dtypes or devices don't match, or if
        the state belongs to another gate.
        """
        if not isinstance(nll, Tensor) or nll.ndim != 2 or not nll.is_floating_point():
            raise InvalidInputError(f"nll must be a tensor [B, T] of a float dtype, got {described(nll)}")
        self._check(nll, state, mask)
        if state is None:
            state = self.init_state(len(nll), nll.device)
        if mask is None:
            mask = torch.ones_like(nll, dtype=torch.bool)
        total = torch.where(mask, nll, 0.0).sum(1, dtype=torch.float64)
        tokens = mask.sum(1)
        surprise = (total / tokens).float()
        score = surprise if self.rule == "paper" else torch.where(tokens > 0, total.clamp(min=1).log(), torch.nan)
        score = score.float()
        known = limit(*moments(state.values, state.count), self.lam)
        threshold = torch.where(state.count < self.warmup, -torch.inf, _rounded_down(known))
        return Gating(score > threshold, surprise, score, threshold, _later(state, score.detach()))

    def from_logits(
        self,
        logits: Tensor,  # [B, T, V]
        targets: Tensor,  # [B, T] integers, of 0 .. V - 1 or ignore_index
        state: SurpriseGateState | None = None,
        *,
        mask: Tensor | None = None,  # [B, T] bool, true where a token counts
        ignore_index: int = -100,
    ) -> Gating:
        """Decide from aligned logits and targets. For next-token prediction, shift them first.

        In addition to the errors of `forward`, raises `InvalidInputError` for a target outside the vocabulary, except
        while being compiled.
        """
        if not isinstance(logits, Tensor) or logits.ndim != 3 or not logits.is_floating_point() or not logits.shape[2]:
            raise InvalidInputError(f"logits must be a tensor [B, T, V] of a float dtype, got {described(logits)}")
        kept = self._kept(logits, targets, state, mask, ignore_index)
        wanted = torch.where(kept, targets, 0).long()
        words = logits.shape[2]
        if not torch.compiler.is_compiling() and bool(((wanted < 0) | (wanted >= words)).any()):
            raise InvalidInputError(f"targets must be in 0 .. {words - 1}, ignore_index = {ignore_index}, or masked")
        counted = torch.where(kept[..., None], logits, 0.0)  # a gradient of 0 where a logit that is masked is NaN
        nll = functional.cross_entropy(counted.flatten(0, 1).float(), wanted.flatten(), reduction="none")
        made: Gating = self(nll.view(targets.shape), state, mask=kept)
        return made

    def from_hidden(
        self,
        hidden: Tensor,  # [B, T, d]
        weight: Tensor,  # [V, d]
        targets: Tensor,  # [B, T] integers, of 0 .. V - 1 or ignore_index
        state: SurpriseGateState | None = None,
        *,
        bias: Tensor | None = None,  # [V]
        softcap: float | None = None,
        mask: Tensor | None = None,  # [B, T] bool, true where a token counts
        ignore_index: int = -100,
    ) -> Gating:
        """Decide from hidden states and the output vocabulary, without materialising the logits; see `token_nll`.

        Raises `InvalidInputError` like `from_logits`.
        """
        if not isinstance(hidden, Tensor) or hidden.ndim != 3:
            raise InvalidInputError(f"hidden must be a tensor [B, T, d], got {described(hidden)}")
        if not isinstance(weight, Tensor) or not isinstance(bias, Tensor | None):
            raise InvalidInputError(f"weight and bias must be tensors, got {described(weight)} and {described(bias)}")
        kept = self._kept(hidden, targets, state, mask, ignore_index)
        wanted = torch.where(kept, targets, ignore_index)
        try:
            nll = token_nll(hidden, weight, wanted, bias=bias, softcap=softcap, ignore_index=ignore_index)
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        made: Gating = self(nll, state, mask=kept)
        return made

    def extra_repr(self) -> str:
        return f"{self.rule}, lam={self.lam}, window={self.window}, warmup={self.warmup}"

    def _kept(
        self,
        source: Tensor,  # [B, T, ...]
        targets: Tensor,
        state: SurpriseGateState | None,
        mask: Tensor | None,
        ignore_index: int,
    ) -> Tensor:
        """Return a mask [B, T], True where a token counts."""
        if (
            not isinstance(targets, Tensor)
            or targets.shape != source.shape[:2]
            or targets.is_floating_point()
            or targets.dtype == torch.bool
        ):
            raise InvalidInputError(
                f"targets must be a tensor {[*source.shape[:2]]} of integers, got {described(targets)}"
            )
        if targets.device != source.device:
            raise InvalidInputError(
                f"targets are on {targets.device}, the others on {source.device}: move all to one device"
            )
        self._check(targets, state, mask)
        kept = targets != ignore_index
        return kept if mask is None else kept & mask

    def _check(self, like: Tensor, state: SurpriseGateState | None, mask: Tensor | None) -> None:
        if mask is not None and (
            not isinstance(mask, Tensor)
            or mask.shape != like.shape
            or mask.dtype != torch.bool
            or mask.device != like.device
        ):
            where = f" on {mask.device}" if isinstance(mask, Tensor) else ""
            raise InvalidInputError(
                f"mask must be a tensor {[*like.shape]} of bool on {like.device}, got {described(mask)}{where}"
            )
        if state is None:
            return
        if not isinstance(state, SurpriseGateState):
            raise InvalidInputError(f"state must be the .state of a call's result, got {type(state).__name__}")
        if state.rule != self.rule or state.values.shape != (len(like), self.window):
            raise InvalidInputError(
                f"the state doesn't match this gate and {len(like)} streams: it has the rule {state.rule} and "
                f"{[*state.values.shape]} values; start with init_state({len(like)})"
            )
        if state.values.device != like.device:
            raise InvalidInputError(f"the input is on {like.device}, the state on {state.values.device}: move it")


def _rounded_down(number: Tensor) -> Tensor:
    """Return the largest float32 not above a float64. It compares with any float32 in the same way as the float64."""
    near = number.float()
    return torch.where(near.double() > number, torch.nextafter(near, torch.full_like(near, -torch.inf)), near)


def _later(state: SurpriseGateState, score: Tensor) -> SurpriseGateState:
    """Return the state with one more value for each stream that has a finite score."""
    counts = score.isfinite()
    longer = torch.cat([state.values[:, 1:], score[:, None]], 1)
    values = torch.where(counts[:, None], longer, state.values)
    count = (state.count + counts).clamp(max=state.values.shape[1])
    return replace(state, values=values, count=count)
