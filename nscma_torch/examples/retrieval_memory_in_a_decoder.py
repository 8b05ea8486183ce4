"""A `RetrievalMemory` inside a small decoder of your own: write, read, delete, and gradients through what was written.

    python -m nscma_torch.examples.retrieval_memory_in_a_decoder

The decoder reads a list of pairs in one window and is asked for them in another, which doesn't show the list. It learns
where to look, and what to write. It prints:

    pairs remembered before training: few
    after training: 32 of 32
    a loss on the answers trains what is written: True
    the deleted pair is remembered: False
    the others: 31 of 31
    what another scope holds is found: False
    a checkpoint keeps the deleted pair: False
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nscma_torch import RetrievalMemory

WORDS, PAIRS, DIM, STEPS = 64, 32, 32, 150


class RecallingDecoder(nn.Module):
    """One layer of causal attention, and a memory whose answer is added to the hidden state before the head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(2 * WORDS, DIM)
        self.layer = nn.TransformerEncoderLayer(DIM, nhead=2, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.address, self.value = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)  # keys and queries share the first
        self.head = nn.Linear(DIM, 2 * WORDS)
        self.memory = RetrievalMemory(DIM, DIM, scale=1.0)

    def hidden(self, tokens: Tensor) -> Tensor:  # [B, T] to [B, T, D]
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        states: Tensor = self.layer(self.embed(tokens), src_mask=mask, is_causal=True)
        return states

    def read(self, pairs: Tensor, scope: int = 0) -> Tensor:  # [n, 2]; returns the ids of the items
        """Write an item for each pair: where it will be looked for, and what is to be said then."""
        states = self.hidden(pairs)
        return self.memory.write(self.address(states[:, 0]), self.value(states[:, 1]), scope=scope)

    def forward(self, asked: Tensor, scope: int = 0) -> Tensor:  # [n] to logits [n, V]
        states = self.hidden(asked[:, None])[:, -1]
        logits: Tensor = self.head(states + self.memory(self.address(states), k=4, scope=scope).mixed)
        return logits


def draw() -> Tensor:  # [n, 2]: each first word stands once
    """Return random pairs of a first and a second word."""
    return torch.stack([torch.randperm(WORDS)[:PAIRS], WORDS + torch.randint(WORDS, (PAIRS,))], dim=1)


def main() -> None:
    """Train on lists that are read, asked for and deleted; then delete one pair of a list."""
    torch.manual_seed(0)
    decoder = RecallingDecoder()
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=3e-3)
    for step in range(STEPS + 1):
        pairs = draw()
        ids = decoder.read(pairs)
        logits = decoder(pairs[:, 0])
        right = int((logits.argmax(-1) == pairs[:, 1]).sum())
        if step == 0:
            print("pairs remembered before training:", "few" if right < PAIRS // 4 else right)
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(logits, pairs[:, 1]))
        if step < STEPS:
            optimizer.step()
            decoder.memory.delete(ids)
        decoder.memory.detach_()  # the next step's gradients end here
    print(f"after training: {right} of {PAIRS}")
    gradient = decoder.value.weight.grad  # the answers reach it through the items alone
    print("a loss on the answers trains what is written:", gradient is not None and bool(gradient.any()))

    decoder.memory.delete(ids[:1])
    found = decoder(pairs[:, 0]).argmax(-1) == pairs[:, 1]
    print("the deleted pair is remembered:", bool(found[0]))
    print(f"the others: {int(found[1:].sum())} of {PAIRS - 1}")
    decoder.read(pairs[:1], scope=1)  # of another user
    print("what another scope holds is found:", bool(decoder(pairs[:1, 0]).argmax(-1) == pairs[0, 1]))
    print("a checkpoint keeps the deleted pair:", bool((decoder.state_dict()["memory.ids"] == ids[0]).any()))


if __name__ == "__main__":
    main()
