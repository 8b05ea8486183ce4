"""Compute a whole vocabulary's logits tile by tile, and sums of their exponentials, as the basis for `token_nll`.

The sums use a running maximum (online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867, algorithm 3). On a CPU, a
guess at the maximum, from the first words, usually suffices. The product then subtracts it before rounding, which saves
two passes over the tile.

Legend: T tokens, V words in the vocabulary, d dimension; a tile is K words by N tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

FAR = -800.0  # exp of it is zero in float64
GUESSED = 256  # words whose largest logit estimates that of all
SOUND = (1e-16, 1e30)  # a sum relative to a guessed maximum outside of these is done again


class Sums(NamedTuple):
    """Sums over all words except the target, each [T], relative to the largest of their logits."""

    top: Tensor  # the largest logit
    total: Tensor  # sum of exp(z - top)
    moment: Tensor  # sum of exp(z - top) (z - top)
    shift: Tensor | None = None  # value subtracted from the products before rounding

    def finish(self, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return nll, the log-sum-exp over all words, and entropy, given the targets' logits [T]."""
        rest = self.top + self.total.log()
        against = rest - target
        nll = against.clamp(min=0) + torch.log1p(torch.exp(-against.abs()))
        p, others = torch.sigmoid(-against), torch.sigmoid(against)
        # of target or not, and where not, of which: H = H(p) + (1 - p) H_rest
        among = torch.where(others > 0, others * (self.total.log() - self.moment / self.total), 0.0)
        entropy = torch.special.entr(p) + torch.special.entr(others) + among
        return nll, torch.logaddexp(rest, target), entropy


class Tiles:
    """Logits computed tile by tile, with words as the first dimension (the faster product on a CPU), in memory that is
    reused.
    """

    def __init__(
        self, hidden: Tensor, weight: Tensor, targets: Tensor, bias: Tensor | None, softcap: float | None
    ) -> None:
        self.hidden, self.weight, self.targets, self.softcap = hidden, weight, targets, softcap
        self.dtype = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        self.bias = None if bias is None else bias.to(self.dtype)
        size, tokens = (2**20, 512) if hidden.device.type == "cpu" else (2**24, 4096)
        self.tokens = min(tokens, max(1, len(hidden)))
        self.words = min(len(weight), size // self.tokens)
        cells = (self.words + 1) * self.tokens
        self._near = hidden.new_empty(cells if hidden.dtype != self.dtype else 0)
        self._held = hidden.new_empty(cells, dtype=self.dtype)

    def __iter__(self) -> Iterator[tuple[slice, slice]]:
        """Yield the words and tokens of each tile: first all tokens for the first words, then for the next words, and
        so on.
        """
        for begin in range(0, len(self.weight), self.words):
            for t in self.blocks():
                yield slice(begin, min(len(self.weight), begin + self.words)), t

    def blocks(self) -> Iterator[slice]:
        """Yield the tokens of each tile."""
        for first in range(0, len(self.hidden), self.tokens):
            yield slice(first, min(len(self.hidden), first + self.tokens))

    @property
    def shifts(self) -> bool:
        """Return True if a product can include the subtraction, because there is no operation between the two."""
        return self.hidden.device.type == "cpu" and self.bias is None and self.softcap is None

    def shifted(self, v: slice, t: slice, by: Tensor) -> tuple[Tensor, Tensor]:
        """Return `logits` minus `by` [T], in the dtype of the operands. Requires `shifts`."""
        k, n = v.stop - v.start, t.stop - t.start
        held = self._held[: (k + 1) * n].view(k + 1, n)
        out = held[:k] if self.hidden.dtype == self.dtype else self._near[: k * n].view(k, n)
        torch.addmm(-by[t], self.weight[v], self.hidden[t].T, out=out)
        if out.dtype != self.dtype:
            held[:k].copy_(out)
        return self._without_targets(held, v, t)

    def logits(self, v: slice, t: slice) -> tuple[Tensor, Tensor]:
        """Return the logits [K + 1, N] of a tile, and the row [1, N] of each target.

        Targets' logits are -inf, and the last row is meaningless. The row of a target outside the tile is K.
        """
        k, n = v.stop - v.start, t.stop - t.start
        held = self._held[: (k + 1) * n].view(k + 1, n)
        z = held[:k]
        if self.hidden.dtype == self.dtype:
            torch.mm(self.weight[v], self.hidden[t].T, out=z)
        elif self.hidden.is_cuda:  # the only one that rounds no product
            torch.mm(self.weight[v], self.hidden[t].T, out_dtype=self.dtype, out=z)
        else:
            z.copy_(torch.mm(self.weight[v], self.hidden[t].T, out=self._near[: k * n].view(k, n)))
        if self.bias is not None:
            z += self.bias[v, None]
        if self.softcap is not None:
            z.div_(self.softcap).tanh_().mul_(self.softcap)
        return self._without_targets(held, v, t)

    def _without_targets(self, held: Tensor, v: slice, t: slice) -> tuple[Tensor, Tensor]:
        place = self.targets[None, t] - v.start
        place = torch.where((place < 0) | (place >= v.stop - v.start), v.stop - v.start, place)
        return held.scatter_(0, place, -torch.inf), place

    def rounded(self, held: Tensor) -> Tensor:
        """Return the tile in the dtype of the operands."""
        if self.hidden.dtype == self.dtype:
            return held
        return self._near[: held.numel()].view(held.shape).copy_(held)

    def target_logits(self) -> Tensor:
        """Return the logits of the targets, [T]."""
        target = self.hidden.new_empty(len(self.hidden), dtype=self.dtype)
        for t in self.blocks():
            words = self.weight[self.targets[t]].to(self.dtype)
            target[t] = words.mul_(self.hidden[t]).sum(1)
        if self.bias is not None:
            target += self.bias[self.targets]
        return target if self.softcap is None else target.div_(self.softcap).tanh_().mul_(self.softcap)

    def sums(self, moments: bool) -> Sums:
        """Return the sums over all tiles, in order. Without `moments`, the moments are zero."""
        if not self.shifts:
            return self._running(moments)
        near = self.hidden.new_empty(len(self.hidden))
        for t in self.blocks():
            near[t] = torch.mm(self.weight[:GUESSED], self.hidden[t].T).amax(0)
        sums = self._guessed(near, moments)
        low, high = SOUND
        unsound = (~((sums.total > low) & (sums.total < high))).nonzero()[:, 0]
        if len(unsound):  # the products of these are not shifted
            again = Tiles(self.hidden[unsound], self.weight, self.targets[unsound], None, None)._running(moments)
            sums.top[unsound], sums.total[unsound], sums.moment[unsound] = again.top, again.total, again.moment
            near[unsound] = 0
        return sums

    def _guessed(self, near: Tensor, moments: bool) -> Sums:
        """Return the sums relative to `near` [T], which is a guess at the largest logit."""
        total = torch.zeros(len(self.hidden), dtype=self.dtype)
        moment = torch.zeros_like(total)
        for v, t in self:
            z = self.shifted(v, t, near)[0][:-1]
            if moments:
                p = z.clamp_(min=FAR).exp()
                moment[t] += z.mul_(p).sum(0)
            else:
                p = z.exp_()
            total[t] += p.sum(0)
        return Sums(near.to(self.dtype, copy=True), total, moment, near)

    def _running(self, moments: bool) -> Sums:
        """Return the sums, computed relative to the largest logit so far."""
        top = self.hidden.new_full((len(self.hidden),), torch.finfo(self.dtype).min, dtype=self.dtype)
        total, moment = torch.zeros_like(top), torch.zeros_like(top)
        for v, t in self:
            z = self.logits(v, t)[0][:-1]
            new = torch.maximum(top[t], z.amax(0))
            z -= new
            fall = top[t] - new
            scale = fall.exp()
            if moments:
                z.clamp_(min=FAR)
                p = z.exp()
                moment[t] = scale * (moment[t] + fall.clamp(min=FAR) * total[t]) + z.mul_(p).sum(0)
            else:
                p = z.exp_()
            total[t] = scale * total[t] + p.sum(0)
            top[t] = new
        return Sums(top, total, moment)
