"""The network of `byte_lm` for inference only: computes the same numbers as `ByteLM.forward`, without overhead for
training.

It reads one stream in tiles that are small enough for their activations to stay in a CPU's cache, transposes weights
only once, and sums in place: messages are so short that the number of torch calls matters as much as the arithmetic.

Shape legend: T positions, D width, L layers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nscma_torch.surprise.byte_model.byte_context import HASHED_CONTEXTS, ByteContext
from nscma_torch.surprise.byte_model.byte_lm import VOCABULARY, ByteLM, RecurrentLayer

_CELLS = 1 << 17  # fp32 numbers of one activation [T, D] in a tile: half a megabyte
_EPS = torch.finfo(torch.float32).eps  # that of `rms_norm`
_ROWS = 32  # of a bfloat16 matrix product on a CPU: oneDNN compiles a kernel for each new number of rows


class ByteScorer:
    """Computes the logits of a `ByteLM`, from a copy of its weights.

    Args:
        model: the network.
        device: the device to run on.
        dtype: dtype of the matrix products; everything else is float32.
    """

    def __init__(self, model: ByteLM, device: torch.device, dtype: torch.dtype) -> None:
        self.config = model.config
        self.device, self.dtype = device, dtype
        self.tile = max(_CELLS // model.config.width // _ROWS, 1) * _ROWS if device.type == "cpu" else 1 << 30
        self._multiple = _ROWS if dtype == torch.bfloat16 and device.type == "cpu" else 1
        self._bytes, self._tables = self._plain(model.bytes.weight), self._plain(model.tables.weight)
        self._matched, self._join = self._plain(model.matched.weight), self._matrix(model.join.weight)
        self._rows = torch.arange(HASHED_CONTEXTS, device=device) << model.config.table_bits
        self._layers = [_Layer(self, layer) for layer in model.layers if isinstance(layer, RecurrentLayer)]
        self._head, self._vote = self._matrix(model.head.weight), self._matrix(model.vote.weight)
        self._vote_bias = self._plain(model.vote_bias)

    def _plain(self, weight: Tensor) -> Tensor:
        return weight.detach().to(self.device, torch.float32, copy=True)

    def _matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a contiguous matrix [in, out]."""
        return weight.detach().to(self.device, self.dtype).T.contiguous()

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """Multiply `x` [T, in] by a weight [in, out]; input and result are fp32."""
        if self.dtype == torch.float32:
            return x @ weight
        return (x.to(self.dtype) @ weight).float()

    def logits(self, context: ByteContext, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits [T, 256] fp32 for the byte after each position, and the final state.

        The fields of `context` are [T, ..], and `state` [L, D] is the state before them. T is at most `tile`, for speed
        only.
        """
        size = len(context.byte)
        hashed = self._tables.index_select(0, (context.hashed + self._rows).flatten()).view(size, -1)
        found = context.level > 0
        row = ((context.level - 1) * VOCABULARY + context.expected + 1).masked_fill_(~found, 0)
        matched = self._matched.index_select(0, row.flatten()).view(size, -1)
        joined = torch.cat([hashed, matched], 1)
        pad = -size % self._multiple
        if pad:
            joined = torch.nn.functional.pad(joined, (0, 0, 0, pad))
        x = self.product(joined, self._join)
        x[:size] += self._bytes.index_select(0, context.byte)
        ends = []
        for layer, start in zip(self._layers, state, strict=True):
            x, end = layer.read(x, start, size)
            ends.append(end)
        x = normalized(x)
        votes = self.product(x, self._vote)[:size].add_(self._vote_bias[context.level]).masked_fill_(~found, 0.0)
        logits = self.product(x, self._head)[:size].scatter_add_(1, context.expected, votes)
        return logits, torch.stack(ends)


class _Layer:
    """One `RecurrentLayer` of a scorer."""

    def __init__(self, scorer: ByteScorer, layer: RecurrentLayer) -> None:
        self._product = scorer.product
        self._rate, self._value, self._gate = (scorer._matrix(weight) for weight in layer.mix_in.weight.chunk(3))
        self._rate_bias = scorer._plain(layer.rate_bias)
        self._out, self._up, self._down = (
            scorer._matrix(part.weight) for part in (layer.mix_out, layer.up, layer.down)
        )

    def read(self, x: Tensor, start: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Map `x` [T, D], of which the first `size` positions count, and the state [D] before them to the output and
        the state after them.
        """
        y = normalized(x)
        rate = self._product(y, self._rate).add_(self._rate_bias).sigmoid_()
        value = self._product(y, self._value).mul_(rate)
        states = scanned(rate.neg_().add_(1), value, start)
        end = states[size - 1].clone()
        gate = torch.nn.functional.silu(self._product(y, self._gate), inplace=True)
        x = x.add_(self._product(states.mul_(gate), self._out))
        inside = self._product(normalized(x), self._up).relu_()
        return x.add_(self._product(inside.mul_(inside), self._down)), end


def normalized(x: Tensor) -> Tensor:
    """Normalise the rows of `x` [T, D] to a root mean square of 1, like `rms_norm`."""
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    scale: Tensor = length.square_().div_(x.shape[1]).add_(_EPS).rsqrt_()
    return x * scale


def scanned(decay: Tensor, value: Tensor, start: Tensor) -> Tensor:
    """Return all h_t [T, D] of h_t = decay_t * h_{t-1} + value_t, for `decay` in [0, 1] and `start` [D]. The inputs are
    overwritten.

    Blocks run in parallel, then their ends are chained, which takes about 3 * sqrt(T) vector steps. Only products of
    decays occur, so nothing can overflow.
    """
    size, width = value.shape
    length = 1 << ((size // 2).bit_length() // 2)  # of a block
    if pad := -size % length:
        decay = torch.nn.functional.pad(decay, (0, 0, 0, pad))
        value = torch.nn.functional.pad(value, (0, 0, 0, pad))
    decay, value = decay.view(-1, length, width), value.view(-1, length, width)
    decays, values = decay.unbind(1), value.unbind(1)
    for i in range(1, length):
        torch.addcmul(values[i], decays[i], values[i - 1], out=values[i])
        decays[i].mul_(decays[i - 1])
    entering = value.new_empty(len(value), 1, width)  # h before each block
    befores, partials, products = entering.unbind(0), values[-1].unbind(0), decays[-1].unbind(0)
    befores[0].copy_(start)
    for block in range(1, len(value)):
        torch.addcmul(partials[block - 1], products[block - 1], befores[block - 1][0], out=befores[block][0])
    return value.addcmul_(decay, entering).view(-1, width)[:size]
