"""A neural memory (Titans) inside a transformers decoder with frozen weights.

    python -m nscma_torch.examples.neural_memory_in_a_decoder

The decoder is a tiny random Llama, so that the example runs anywhere; load your own with `from_pretrained`, in 4 bits
if you like. It prints:

    attaching changes no output: True
    a training step does: True
    the decoder's own weights are frozen: True
    what was read before changes the reply: True
    detaching restores the model: True
    the saved memory is the trained one: True
"""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from nscma_torch import AttachedMemory, attach_memory


def main() -> None:
    """Attach a memory, train one step, read a stream in two calls, save, detach, and attach the saved memory."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 100, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4}
    config = LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2)
    model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    tokens = torch.randint(3, 100, (1, 96))
    plain = model(tokens).logits

    memory = attach_memory(model, layers=[1, 3], kind="gate", dim=32)
    print("attaching changes no output:", torch.equal(model(tokens).logits, plain))

    optimizer = torch.optim.AdamW(memory.parameters(), lr=1e-3)
    model(tokens, labels=tokens).loss.backward()
    optimizer.step()
    trained = model(tokens).logits
    print("a training step does:", not torch.equal(trained, plain))
    frozen = all(weight.grad is None for weight in model.lm_head.parameters())
    print("the decoder's own weights are frozen:", frozen)

    with memory.session() as streams:  # the memory persists between calls
        model(tokens[:, :64])
        first = model(tokens[:, 64:]).logits
        streams.reset()
        second = model(tokens[:, 64:]).logits
    print("what was read before changes the reply:", not torch.equal(first, second))

    with tempfile.TemporaryDirectory() as folder:
        memory.save_pretrained(folder)
        memory.detach()
        print("detaching restores the model:", torch.equal(model(tokens).logits, plain))
        AttachedMemory.from_pretrained(model, folder)
        print("the saved memory is the trained one:", torch.equal(model(tokens).logits, trained))


if __name__ == "__main__":
    main()
