"""attach_memory beside PEFT's adapters, accelerate's offloading and torch.export."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree
from transformers import LlamaConfig, LlamaForCausalLM

from nscma_torch import NeuralMemory, attach_memory
from nscma_torch.core.errors import InvalidInputError, ModelError

SIZES: dict[str, Any] = {
    **{"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "pad_token_id": 0},
    **{"num_attention_heads": 4, "num_key_value_heads": 2},
}
TOKENS = torch.arange(3, 35).view(2, 16)


def tiny() -> Any:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES)).eval()


def lora(model: Any) -> Any:
    peft = pytest.importorskip("peft")
    return peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"))


def trainable(model: nn.Module) -> set[str]:
    return {name for name, own in model.named_parameters() if own.requires_grad}


def steps(model: Any, parameters: list[Tensor]) -> bool:
    """Whether one training step changes every parameter that a loss reaches."""
    loss = model(input_ids=TOKENS, labels=TOKENS).loss
    loss.backward()
    return all(own.grad is not None for own in parameters)


def test_adapters_first() -> None:
    model = lora(tiny())
    adapters = trainable(model)
    memory = attach_memory(model, layers=[1], dim=8)
    assert adapters and adapters < trainable(model)
    own = [one for name, one in model.named_parameters() if "lora_B" in name or name.endswith("block.up.weight")]
    assert len(own) == 4 and steps(model, own)
    memory.detach()
    assert trainable(model) == adapters


def test_adapters_second() -> None:
    base = tiny()
    memory = attach_memory(base, layers=[1], dim=8)
    names = {name for name, _ in memory.named_parameters()}
    model = lora(base)
    assert all(one.requires_grad for one in memory.parameters())
    assert len(trainable(model)) == len(names) + 6, "the adapters of three layers"
    assert steps(model, [one for name, one in model.named_parameters() if "lora_B" in name])
    memory.requires_grad_(False)
    model(input_ids=TOKENS)
    assert not any(one.requires_grad for one in memory.parameters()), "who freezes it later is heard"
    memory.detach()
    assert len(trainable(model)) == 6, "the base stays as PEFT left it"


def test_adapters_second_and_a_call_unfreezes_it() -> None:
    base = tiny()
    memory = attach_memory(base, layers=[1], dim=8)
    model = lora(base)
    model(input_ids=TOKENS)
    assert any("nscma_memory" in name for name in trainable(model))
    memory.detach()


def test_offloaded_weights() -> None:
    accelerate = pytest.importorskip("accelerate")
    model = tiny()
    before = model(TOKENS).logits
    accelerate.cpu_offload(model, "cpu")
    memory = attach_memory(model, layers=[1], dim=8)
    assert {one.device.type for one in memory.parameters()} == {"cpu"}
    assert torch.equal(model(TOKENS).logits, before)
    memory.detach()
    late = tiny()
    attach_memory(late, layers=[1], dim=8)
    accelerate.cpu_offload(late, "cpu")
    with pytest.raises(InvalidInputError, match="attach it after cpu_offload"):
        late(TOKENS)
    with torch.device("meta"):
        empty = LlamaForCausalLM(LlamaConfig(**SIZES))
    with pytest.raises(ModelError, match="on the meta device"):
        attach_memory(empty, layers=[1], dim=8)


@pytest.mark.parametrize("kind", ["gate", "context", "retrieval"])
def test_states_are_pytrees(kind: Any) -> None:
    model = tiny()
    memory = attach_memory(model, layers=[1], kind=kind, segment=4, **({} if kind == "retrieval" else {"dim": 8}))
    with memory.session() as streams:
        model(TOKENS[:, :6])
    leaves, spec = _pytree.tree_flatten(streams.states)
    assert all(isinstance(leaf, Tensor) or leaf is None for leaf in leaves)
    again = _pytree.tree_unflatten(leaves, _pytree.treespec_loads(_pytree.treespec_dumps(spec)))
    with memory.session() as streams:
        streams.states = again
        rest = model(TOKENS[:, 6:]).logits
        assert rest.isfinite().all()
    memory.detach()


@torch.no_grad()
def test_a_memory_is_exported_with_its_state() -> None:
    torch.manual_seed(0)
    memory = NeuralMemory(4, segment=4).eval()
    x = torch.randn(1, 6, 4)
    _, state = memory(x[:, :4])
    program = torch.export.export(memory, (x[:, 4:], state), strict=False)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    found, after = torch.export.load(file).module()(x[:, 4:], state)
    truth, wanted = memory(x[:, 4:], state)
    assert torch.allclose(found, truth) and after.position == wanted.position
    assert all(torch.allclose(one, other) for one, other in zip(after.weights, wanted.weights, strict=True))
