"""Apply the surprise gate S > mu + lambda * sigma to your own model's logits while the model trains on a stream.

    python -m nscma_torch.examples.gate_in_a_model

The stream repeats a sentence, with news in between. The gate writes the news; halfway through, its state is saved and
loaded. It prints:

    step 14: a storm has closed the line until May.
    step 25: Ana now lives above the old bakery.
    parameters that the gate adds to a checkpoint: 0
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from nscma_torch import SurpriseGate, SurpriseGateState

USUAL = "the train to the coast leaves at nine."
NEWS = {14: "a storm has closed the line until May.", 25: "Ana now lives above the old bakery."}


class NextByte(nn.Module):
    """A language model that predicts the next byte from the last four; any other language model works as well."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, 16)
        self.mix = nn.Sequential(nn.Linear(4 * 16, 64), nn.ReLU(), nn.Linear(64, 256))

    def forward(self, data: Tensor) -> Tensor:  # [B, T] to [B, T, 256]
        padded = nn.functional.pad(data, (3, 0))
        logits: Tensor = self.mix(self.embed(padded.unfold(1, 4, 1)).flatten(2))
        return logits


def main() -> None:
    """Train on the stream, and print what the gate writes once the model knows the repeated sentence."""
    torch.manual_seed(0)
    model, gate = NextByte(), SurpriseGate(lam=1.0, window=8, warmup=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    state = gate.init_state(batch=1)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(30):
            text = NEWS.get(step, USUAL)
            data = torch.tensor([list(text.encode())])
            seen = gate.from_logits(model(data[:, :-1]), data[:, 1:], state)
            if step >= gate.warmup and bool(seen.write):
                print(f"step {step}: {text}")
            optimizer.zero_grad()
            torch.autograd.backward(seen.surprise.mean())  # the surprise is the loss: nats per token
            optimizer.step()
            state = seen.state
            if step == 20:  # as a checkpoint would
                state.save(Path(folder) / "gate.safetensors")
                state = SurpriseGateState.load(Path(folder) / "gate.safetensors")
    print("parameters that the gate adds to a checkpoint:", len(gate.state_dict()))


if __name__ == "__main__":
    main()
