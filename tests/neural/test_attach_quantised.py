"""A memory in a decoder whose weights are 4-bit NF4, and in one that torch.compile has taken."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

from nscma_torch import AttachedMemory, attach_memory


def llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0}
    return LlamaForCausalLM(LlamaConfig(**sizes, **heads, bos_token_id=None, eos_token_id=None)).eval()


@pytest.mark.parametrize("kind", ["gate", "context", "layer"])
def test_a_base_in_nf4_stays_as_it_is(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes")
    llama().save_pretrained(tmp_path / "base")
    quantised = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    model = LlamaForCausalLM.from_pretrained(
        tmp_path / "base", quantization_config=quantised, dtype=torch.bfloat16, device_map="cpu"
    )
    model.train()  # in eval bitsandbytes packs weights for a kernel of the CPU that has no gradient
    x = torch.arange(1, 41).view(2, 20)
    stored = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert model.model.layers[0].mlp.up_proj.weight.dtype == torch.uint8
    with torch.no_grad():
        plain = model(x).logits
        memory = attach_memory(model, "all", kind, dim=16, segment=8)  # type: ignore[arg-type]
        assert torch.equal(model(x).logits, plain)
    optimizer = torch.optim.Adam(memory.parameters(), 1e-2)
    for _ in range(2):
        model(x, labels=x).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert {parameter.dtype for parameter in memory.parameters()} == {torch.float32}
    with torch.no_grad():
        trained = model(x).logits
        assert not torch.equal(trained, plain) and trained.dtype == torch.bfloat16
        memory.save_pretrained(tmp_path / "memory")
        memory.detach()
        assert torch.equal(model(x).logits, plain)
        assert all(torch.equal(tensor, stored[name]) for name, tensor in model.state_dict().items())
        AttachedMemory.from_pretrained(model, tmp_path / "memory")
        assert torch.equal(model(x).logits, trained)


@pytest.mark.prove
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # inside torch.compile
@pytest.mark.parametrize("kind", ["gate", "context", "layer"])
def test_compiled_gives_the_same(kind: str) -> None:
    model, x = llama(), torch.arange(1, 21).view(1, 20)
    memory = attach_memory(model, [1], kind, dim=16, segment=8)  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in memory.parameters():
            parameter += 0.1
        plain = model(x, use_cache=False).logits
        compiled = torch.compile(model, backend="aot_eager")
        torch.testing.assert_close(compiled(x, use_cache=False).logits, plain, atol=1e-5, rtol=1e-5)
