"""attach_memory on tiny decoders: exact at first, one prompt = token by token, state, detach, files, errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    BloomConfig,
    BloomForCausalLM,
    FalconConfig,
    FalconForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PhiConfig,
    PhiForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

import nscma_torch
from nscma_torch import AttachedMemory, attach_memory
from nscma_torch.core.errors import InvalidInputError, ModelError, ModelNotFoundError

KINDS = ("gate", "context", "layer", "retrieval")
SIZES: dict[str, Any] = {
    **{"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": None},
    "eos_token_id": None,
}
SAME_HEADS = {name: size for name, size in SIZES.items() if name != "num_key_value_heads"}
FAMILIES: dict[str, Callable[[], Any]] = {
    "gemma3": lambda: Gemma3ForCausalLM(Gemma3TextConfig(**SIZES, head_dim=8, sliding_window=12)),
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**SAME_HEADS)),
    "gpt_neox": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SAME_HEADS)),
    "gpt_neox, one after the other": lambda: GPTNeoXForCausalLM(
        GPTNeoXConfig(**SAME_HEADS, use_parallel_residual=False)
    ),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SIZES, sliding_window=12)),
    "opt": lambda: OPTForCausalLM(OPTConfig(**SAME_HEADS, ffn_dim=48, word_embed_proj_dim=32)),
    "phi": lambda: PhiForCausalLM(PhiConfig(**SIZES)),
    "phi3": lambda: Phi3ForCausalLM(Phi3Config(**SIZES)),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8)),
}
# Where each kind goes in differs between these three; what else differs between families is seen by one kind.
CASES = [
    *((family, kind) for family in ("mistral", "gpt2", "gpt_neox") for kind in KINDS),
    *((family, "context") for family in FAMILIES if family not in {"mistral", "gpt2", "gpt_neox"}),
]
FEW = [*(("mistral", kind) for kind in KINDS), ("gpt2", "context"), ("gpt_neox", "gate")]
OPTIONS: dict[str, Any] = {"dim": 16, "segment": 8, "chunk": 4, "heads": 2, "k": 5}


def decoder(family: str = "mistral") -> Any:
    torch.manual_seed(0)
    return FAMILIES[family]().eval()


def tokens(rows: int = 2, length: int = 29) -> Tensor:
    return torch.randint(1, 50, (rows, length), generator=torch.Generator().manual_seed(1))


def attached(model: Any, kind: str, layers: Any = (0, 2)) -> AttachedMemory:
    """A memory that says something: its parameters moved away from the start."""
    memory = attach_memory(model, layers, kind, **OPTIONS)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in memory.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return memory


def traces(model: torch.nn.Module) -> list[str]:
    """Everything by which a module could still be changed: hooks, and methods of its own."""
    return [
        f"{name}.{field}"
        for name, module in model.named_modules()
        for field in [*vars(module)]
        if (field.endswith(("hooks", "hooks_with_kwargs", "always_called")) and vars(module)[field])
        or field == "forward"
    ]


@pytest.mark.parametrize(("family", "kind"), CASES)
def test_attached_starts_equal_decodes_as_it_reads_and_detaches_exactly(family: str, kind: str) -> None:
    model, x = decoder(family), tokens()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    modules = [name for name, _ in model.named_modules()]
    with torch.no_grad():
        plain = model(x).logits
        memory = attach_memory(model, "all", kind, **OPTIONS)  # type: ignore[arg-type]
        assert torch.equal(model(x).logits, plain)
        memory.detach()
        memory = attached(model, kind)
        whole = model(x).logits
        assert (whole - plain).abs().max() > 1e-3
        parts, cache = [], None
        for at in [*range(0, 11), 11]:  # eleven tokens one by one, then the rest at once
            part = x[:, at : at + 1] if at < 11 else x[:, at:]
            out = model(part, past_key_values=cache, use_cache=True)
            parts.append(out.logits)
            cache = out.past_key_values
        torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)
        assert memory.detach() is model
        assert torch.equal(model(x).logits, plain)
    assert [name for name, _ in model.named_modules()] == modules and not traces(model)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert model.state_dict().keys() == weights.keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_memory_trains_and_every_parameter_of_it(kind: str) -> None:
    model, x = decoder(), tokens()
    memory = attach_memory(model, [1], kind, **OPTIONS)  # type: ignore[arg-type]
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items() if "memory" not in name}
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 1e-2)
    losses = []
    for step in range(3):
        loss = model(x, labels=x).loss
        losses.append(loss.item())
        loss.backward()
        if step:  # the first step moves only what starts at zero
            still = [name for name, p in memory.named_parameters() if p.grad is None or not p.grad.abs().sum()]
            assert not still
        optimizer.step()
        optimizer.zero_grad()
    assert losses[2] < losses[0]
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in weights.items())


@pytest.mark.parametrize(("family", "kind"), FEW)
def test_gradient_checkpointing_gives_the_same_gradients(family: str, kind: str) -> None:
    model, x = decoder(family).train(), tokens()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    memory, found = attached(model, kind), []
    for checkpointed in (False, True):
        if checkpointed:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        with memory.session():
            model(x[:, :10], use_cache=False)
            model(x[:, 10:], labels=x[:, 10:], use_cache=False).loss.backward()
        found.append([parameter.grad.clone() for parameter in memory.parameters() if parameter.grad is not None])
        memory.zero_grad()
    assert found[0] and all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_a_session_carries_streams_over_calls() -> None:
    model, x = decoder(), tokens()
    memory = attached(model, "layer", "all")
    with torch.no_grad(), memory.session() as streams:
        first = model(x[:, :13], use_cache=False).logits
        after = list(streams.states)
        second = model(x[:, 13:], use_cache=False).logits
        assert not torch.equal(second, model(x[:, 13:], use_cache=False).logits)  # it has read them twice now
        streams.states = after
        assert torch.equal(second, model(x[:, 13:], use_cache=False).logits)
        streams.reset()
        assert torch.equal(first, model(x[:, :13], use_cache=False).logits)
        with pytest.raises(InvalidInputError, match="2 streams and this call has 1"):
            model(x[:1], use_cache=False)
        streams.select(torch.tensor([1]))
        one = model(x[1:, 13:], use_cache=False).logits
        torch.testing.assert_close(one, second[1:], atol=1e-5, rtol=1e-5)
        with pytest.raises(InvalidInputError, match="a session is already open"), memory.session():
            pass
    with torch.no_grad(), memory.session(streams):
        assert streams.batch == 1
        model(x[1:], use_cache=False)
    with torch.no_grad():
        assert torch.equal(first, model(x[:, :13], use_cache=False).logits)  # outside, calls start afresh


def test_a_session_can_be_cut_for_truncated_backpropagation() -> None:
    model, x = decoder(), tokens()
    memory = attached(model, "gate")
    with memory.session() as streams:
        for at in (0, 9, 18):
            model(x[:, at : at + 9], labels=x[:, at : at + 9], use_cache=False).loss.backward()
            assert streams.states[0].memory.weights[0].requires_grad
            streams.detach()
    assert all(parameter.grad is not None for parameter in memory.parameters())


@pytest.mark.parametrize(("family", "kind"), FEW)
def test_generation_continues_what_was_read(family: str, kind: str) -> None:
    model, x = decoder(family), tokens()
    attached(model, kind)
    with torch.no_grad():
        made = model.generate(x, max_new_tokens=6, do_sample=False)
        for at in range(x.shape[1], made.shape[1]):
            assert torch.equal(model(made[:, :at]).logits[:, -1].argmax(-1), made[:, at])


@pytest.mark.parametrize("kind", ["gate", "retrieval"])
def test_beam_search_reorders_the_memories(kind: str) -> None:
    """With the cache, where memories follow their beams, the beams are those of reading all anew each time."""
    model, x = decoder(), tokens(3, 11)
    attached(model, kind, "all")
    beams = {"num_beams": 4, "num_return_sequences": 4, "max_new_tokens": 9, "do_sample": False}
    with torch.no_grad():
        assert torch.equal(model.generate(x, **beams), model.generate(x, use_cache=False, **beams))


def test_a_copy_of_the_cache_is_a_way_back() -> None:
    model, x = decoder(), tokens()
    attached(model, "gate")
    with torch.no_grad():
        kept = model(x[:, :15], use_cache=True).past_key_values
        one = model(x[:, 15:], past_key_values=copy.deepcopy(kept)).logits
        other = model(x[:, 15:], past_key_values=kept).logits
        assert torch.equal(one, other)
        with pytest.raises(InvalidInputError, match="cannot roll back"):
            kept.crop(3)
        kept.batch_select_indices(torch.tensor([1]))
        kept.batch_repeat_interleave(3)
        assert model(x[[1, 1, 1]], past_key_values=kept).logits.shape[0] == 3


def test_single_tokens_can_be_forgotten_of_retrieval() -> None:
    model, x = decoder(), tokens()
    memory = attach_memory(model, [0, 2], "retrieval", **OPTIONS, reach=1)
    for block in memory.blocks.values():
        torch.nn.init.normal_(block.block.up.weight)  # type: ignore[union-attr, arg-type]
    with torch.no_grad(), memory.session() as streams:
        model(x[:, :16], use_cache=False)
        kept = list(streams.states)
        plain = model(x[:, 16:], use_cache=False).logits
        streams.states = kept
        streams.delete(1, [3, 4])
        for state in streams.states:
            assert not state.memory.keys[1, :, 3:5].any() and state.memory.keys[0, :, 3:5].any()  # type: ignore[union-attr]
        changed = model(x[:, 16:], use_cache=False).logits
        torch.testing.assert_close(changed[0], plain[0], atol=1e-6, rtol=1e-6)
        assert (changed[1] - plain[1]).abs().max() > 1e-4
        for stream, numbers in ((2, [1]), (0, [29]), (0, [-1])):
            with pytest.raises(InvalidInputError, match="below"):
                streams.delete(stream, numbers)
    memory.detach()
    other = attached(model, "gate")
    with torch.no_grad(), other.session() as streams:
        model(x, use_cache=False)
        with pytest.raises(InvalidInputError, match="retrieval"):
            streams.delete(0, [1])


def test_padding_is_not_stored() -> None:
    model, x = decoder("llama"), tokens()
    memory = attached(model, "gate", [0])
    mask = torch.ones_like(x)
    mask[1, :8] = 0  # a whole segment, so that the chunks of what follows are where they were
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad(), memory.session() as streams:
        padded = model(x, attention_mask=mask, position_ids=positions, use_cache=False).logits
        weights = [weight.clone() for weight in streams.states[0].memory.weights]
        streams.reset()
        alone = model(x[1:, 8:], use_cache=False).logits
    torch.testing.assert_close(padded[1:, 8:], alone, atol=1e-5, rtol=1e-5)
    for weight, other in zip(weights, streams.states[0].memory.weights, strict=True):
        torch.testing.assert_close(weight[2:], other, atol=1e-5, rtol=1e-5)
    with pytest.raises(InvalidInputError, match="attention_mask"):
        model(x, attention_mask=torch.ones(2, 1, 29, 29, dtype=torch.bool))


def test_caches_of_others_are_refused() -> None:
    model, x = decoder(), tokens()
    with torch.no_grad():
        strange = model(x, use_cache=True).past_key_values
        memory = attached(model, "gate")
        with pytest.raises(InvalidInputError, match="has not read"):
            model(x, past_key_values=strange)
        own = model(x, use_cache=True).past_key_values
        with memory.session(), pytest.raises(InvalidInputError, match="another memory or session"):
            model(x, past_key_values=own)
        with memory.session() as streams:
            pass
        memory.detach()
        again = attached(model, "gate")
        with pytest.raises(InvalidInputError, match="another memory or session"):
            model(x, past_key_values=own)
        with pytest.raises(InvalidInputError, match="another memory"), again.session(streams):
            pass


@pytest.mark.parametrize(("family", "kind"), FEW)
def test_save_and_load(family: str, kind: str, tmp_path: Path) -> None:
    model, x = decoder(family), tokens()
    memory = attached(model, kind, [-1, 0])
    with torch.no_grad():
        wanted = model(x).logits
    memory.save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.safetensors", "memory_config.json"]
    memory.detach()
    loaded = AttachedMemory.from_pretrained(model, tmp_path)
    assert list(loaded.blocks) == ["0", "2"]
    with torch.no_grad():
        assert torch.equal(model(x).logits, wanted)


def test_a_memory_of_another_base_or_a_broken_one_is_refused(tmp_path: Path) -> None:
    model = decoder()
    memory = attach_memory(model, [0], **OPTIONS)
    memory.save_pretrained(tmp_path)
    memory.detach()
    with pytest.raises(ModelError, match="was trained in base model"):
        AttachedMemory.from_pretrained(decoder("llama"), tmp_path)
    config = tmp_path / "memory_config.json"
    written = config.read_text()
    for changed in (written.replace('"dim": 16', '"dim": 8'), written.replace('"dim"', '"width"'), "{}", "no json"):
        config.write_text(changed)
        with pytest.raises(ModelError, match=r"do not fit|does not contain"):
            AttachedMemory.from_pretrained(model, tmp_path)
        assert not traces(model) and not hasattr(model, "nscma_memory")
    with pytest.raises(ModelNotFoundError, match="save_pretrained"):
        AttachedMemory.from_pretrained(model, tmp_path / "nowhere")


def test_errors_leave_the_model_as_it_was() -> None:
    model = decoder()
    for arguments in (
        {"layers": [3]},
        {"layers": []},
        {"layers": [0, -3]},
        {"layers": "some"},
        {"kind": "head"},
        {"heads": 5},
        {"reach": 0},
        {"dim": -1},
        {"kind": "retrieval", "k": 0},
        {"kind": "retrieval", "capacity": 65},
        {"kind": "retrieval", "segment": None},
    ):
        with pytest.raises(InvalidInputError):
            attach_memory(model, **arguments)  # type: ignore[arg-type]
        assert not traces(model) and all(parameter.requires_grad for parameter in model.parameters())
    memory = attach_memory(model, **OPTIONS)
    with pytest.raises(InvalidInputError, match="detach"):
        attach_memory(model)
    memory.detach()
    for call in (memory.detach, lambda: memory.save_pretrained("x"), lambda: memory.session().__enter__()):
        with pytest.raises(InvalidInputError, match="not attached"):
            call()


def test_unknown_architectures_are_refused() -> None:
    bart = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    for model in (
        FalconForCausalLM(FalconConfig(**SAME_HEADS)),
        BloomForCausalLM(BloomConfig(**SAME_HEADS)),
        BertModel(BertConfig(**SAME_HEADS)),
        BartForConditionalGeneration(
            BartConfig(**bart, vocab_size=50, encoder_attention_heads=2, decoder_attention_heads=2)
        ),
        torch.nn.Linear(2, 2),
    ):
        with pytest.raises(ModelError, match=r"cannot be attached to \w+: .* it goes into Llama, .*GPT-2"):
            attach_memory(model)
        assert not traces(model) and all(parameter.requires_grad for parameter in model.parameters())
    unknown = FalconForCausalLM(FalconConfig(**SAME_HEADS))
    unknown.config.model_type = "like falcon"
    memory = attach_memory(unknown)
    with pytest.raises(ModelError, match="does not pass its keyword arguments"):
        unknown(tokens())
    memory.detach()
    unknown(tokens())
    flex = decoder()
    flex.config._attn_implementation = "flex_attention"
    with pytest.raises(ModelError, match="sdpa"):
        attach_memory(flex, kind="context")
    whole = decoder()
    with pytest.raises(InvalidInputError, match="give segment a number"):
        attach_memory(whole, kind="context", segment=None, chunk=4)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="list of indexes"):
        attach_memory(whole, layers=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="float32 or"):
        attach_memory(whole, dtype=torch.float64)
    attach_memory(whole)  # nothing was left in it


def test_memories_are_part_of_the_model_while_attached() -> None:
    model = decoder().to(torch.bfloat16)
    memory = attach_memory(model, [1], **OPTIONS, dtype=torch.bfloat16)
    assert {p.dtype for p in memory.parameters()} == {torch.bfloat16}
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {f"nscma_memory.{name}" for name, _ in memory.named_parameters()}
    assert memory.state_dict().keys() == {name.removeprefix("nscma_memory.") for name in trained}
    with torch.no_grad(), memory.session() as streams:
        assert model(tokens()).logits.dtype == torch.bfloat16
        assert streams.states[0].memory.weights[0].dtype == torch.float32


def test_a_copy_of_the_model_has_a_memory_of_its_own() -> None:
    model, x = decoder(), tokens()
    attached(model, "gate")
    with torch.no_grad():
        wanted = model(x).logits
        other = copy.deepcopy(model)
        for parameter in model.parameters():
            parameter.zero_()
        assert torch.equal(other(x).logits, wanted)
        other.nscma_memory.detach()
        assert not traces(other) and not torch.equal(other(x).logits, wanted)


def test_public_names() -> None:
    assert nscma_torch.attach_memory is attach_memory and "AttachedMemory" in nscma_torch.__all__
