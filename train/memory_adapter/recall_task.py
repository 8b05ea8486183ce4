"""Associative recall: pairs of a key and a value, drawn anew for each sequence, then filler, then every key once more.

    k1 v1 k2 v2 ... | filler ... | ? k3 v3 ? k1 v1 ...

Nothing but what the sequence began with tells a value, so chance is one in the number of values, and beyond the reach
of its attention a decoder needs a memory. `distance` is the length of the filler: a pair and its question are at least
so many tokens apart. Labels stand on the answers alone.

Shape legend: B sequences, T = 5 pairs + distance tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class RecallTask:
    """Numbers of tokens of each sort; token 0 is the question mark, then keys, values and fillers."""

    keys: int = 32
    values: int = 32
    fillers: int = 32
    pairs: int = 8

    @property
    def vocabulary(self) -> int:
        return 1 + self.keys + self.values + self.fillers

    def batch(
        self, rows: int, distance: int, generator: torch.Generator, *, pairs: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Tokens [B, T] and labels [B, T], -100 where there is no answer."""
        pairs = self.pairs if pairs is None else pairs
        keys = _draws(rows, self.keys, pairs, generator) + 1
        values = torch.randint(self.values, (rows, pairs), generator=generator) + 1 + self.keys
        filler = torch.randint(self.fillers, (rows, distance), generator=generator) + 1 + self.keys + self.values
        order = _draws(rows, pairs, pairs, generator)
        asked, answers = keys.gather(1, order), values.gather(1, order)
        questions = torch.stack([torch.zeros_like(asked), asked, answers], 2).flatten(1)
        tokens = torch.cat([torch.stack([keys, values], 2).flatten(1), filler, questions], 1)
        labels = torch.full_like(tokens, -100)
        labels[:, 2 * pairs + distance + 2 :: 3] = answers
        return tokens, labels

    @torch.no_grad()
    def accuracy(self, model: nn.Module, distance: int, *, rows: int = 64, seed: int = 999) -> float:
        """Share of the answers that the model's most likely token gives, over `rows` new sequences."""
        generator = torch.Generator().manual_seed(seed + distance)
        device = next(model.parameters()).device
        right = total = 0
        for at in range(0, rows, 16):
            tokens, labels = (part.to(device) for part in self.batch(min(16, rows - at), distance, generator))
            guesses = model(input_ids=tokens, use_cache=False).logits[:, :-1].argmax(-1)
            asked = labels[:, 1:] != -100
            right += int((guesses == labels[:, 1:])[asked].sum())
            total += int(asked.sum())
        return right / total


def _draws(rows: int, number: int, size: int, generator: torch.Generator) -> Tensor:
    """[rows, size] different numbers below `number` in each row."""
    return torch.stack([torch.randperm(number, generator=generator)[:size] for _ in range(rows)])
