"""Causal language models loaded whole or not at all; what four bits cost; adapters."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch

from eval.harness.tiny_llama import build
from nscma_torch.core.errors import ConfigError, MissingDependencyError, ModelError, ModelNotFoundError
from nscma_torch.llm.engines.contract import Reply, Request, Turn
from nscma_torch.llm.engines.local import TransformersEngine
from nscma_torch.llm.loading import load_causal_lm

IDS = torch.arange(4, 68)[None]


def test_a_model_is_described(tiny_llama: Path) -> None:
    loaded = load_causal_lm(tiny_llama, dtype=torch.float32)
    assert (loaded.name, loaded.context, loaded.vocabulary) == ("tiny-llama", 1024, 416)
    assert loaded.eos == {2} and not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert loaded.digest() == load_causal_lm(tiny_llama, dtype=torch.bfloat16).digest()


def test_a_folder_without_a_whole_model_is_one_clear_error(tmp_path: Path, tiny_llama: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"config\.json"):
        load_causal_lm(tmp_path)
    with pytest.raises(ModelNotFoundError, match="hf download nobody/nothing"):
        load_causal_lm("nobody/nothing")
    shutil.copytree(tiny_llama, tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match="no weights"):
        load_causal_lm(tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_causal_lm(tmp_path / "bare")


def test_missing_weights_are_never_made_up(tmp_path: Path, tiny_llama: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny_llama, tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks weights.*up_proj"):
        load_causal_lm(tmp_path / "model")


def test_bad_arguments_are_refused(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="quantization"):
        load_causal_lm(tiny_llama, quantization="int3")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="device"):
        load_causal_lm(tiny_llama, device="abacus")
    for module, options in (("transformers", {}), ("accelerate", {}), ("bitsandbytes", {"quantization": "nf4"})):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(MissingDependencyError, match=r"nscma-torch\[hf\]"):
                load_causal_lm(tiny_llama, **options)


def test_an_adapter_changes_what_the_model_says(tmp_path: Path, tiny_llama: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(tiny_llama, dtype=torch.float32)
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
    get_peft_model(base, lora).save_pretrained(tmp_path / "tuned")
    plain = load_causal_lm(tiny_llama, dtype=torch.float32)
    tuned = load_causal_lm(tiny_llama, dtype=torch.float32, adapter=tmp_path / "tuned")
    assert tuned.name == "tiny-llama+tuned" and tuned.digest() != plain.digest()
    with torch.no_grad():
        assert not torch.allclose(tuned.model(IDS).logits, plain.model(IDS).logits, atol=0.1)
    engine = TransformersEngine(tiny_llama, dtype=torch.float32, quantization="nf4", adapter=tmp_path / "tuned")
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": False}
    (reply,) = engine.generate([Request((Turn("user", "Hi"),), schema=schema)])
    assert isinstance(reply, Reply) and json.loads(reply.text)["a"] in (1, 2)
    with pytest.raises(ModelNotFoundError, match="adapter"):
        load_causal_lm(tiny_llama, adapter=tmp_path)
    wide = build(tmp_path / "wide", hidden_size=32, intermediate_size=48)
    with pytest.raises(ModelError, match="does not fit"):
        load_causal_lm(wide, dtype=torch.float32, adapter=tmp_path / "tuned")


def test_four_bits_are_smaller_and_close(tiny_llama: Path) -> None:
    exact = load_causal_lm(tiny_llama, dtype=torch.float32).model
    four = load_causal_lm(tiny_llama, dtype=torch.float32, quantization="nf4").model
    assert four.get_memory_footprint() < 0.7 * exact.get_memory_footprint()
    with torch.no_grad():
        left, right = exact(IDS).logits, four(IDS).logits
    assert 0 < float((left - right).norm() / left.norm()) < 0.5


@pytest.mark.prove
def test_error_and_size_of_four_bits(tmp_path: Path) -> None:
    """A Llama of 2.8 million weights, taught this repository's pages, in fp32, bf16 and NF4."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = build(tmp_path / "taught", scale=1.0, hidden_size=256, intermediate_size=640, num_hidden_layers=4)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    text = (Path(__file__).parents[2] / "eval" / "README.md").read_text(encoding="utf-8")
    ids = torch.tensor(AutoTokenizer.from_pretrained(folder)(text, verbose=False)["input_ids"])
    rows = ids[: len(ids) // 128 * 128].view(-1, 128)
    taught, held = rows[::2], rows[1::2][:48]
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(100):
        batch = taught[torch.randint(len(taught), (4,))]
        loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.save_pretrained(folder)

    exact = load_causal_lm(folder, dtype=torch.float32).model
    forms = {
        "fp32": exact,
        "bf16": load_causal_lm(folder, dtype=torch.bfloat16).model,
        "nf4, fp32 arithmetic": load_causal_lm(folder, dtype=torch.float32, quantization="nf4").model,
    }
    layers = [name for name, weight in exact.named_parameters() if ".layers." in name and weight.ndim == 2]
    print(f"\n{'form':<22} {'all MB':>7} {'layers MB':>9} {'bits':>5} {'logit error':>11} {'perplexity':>10}")
    perplexities = {}
    with torch.no_grad():
        truth = exact(held).logits
        count = sum(exact.get_parameter(name).numel() for name in layers)
        for form, other in forms.items():
            logits = other(held).logits.float()
            log_p = torch.log_softmax(logits[:, :-1], -1).gather(-1, held[:, 1:, None])
            perplexities[form] = float(torch.exp(-log_p.mean()))
            rest = sum(p.numel() * p.element_size() for n, p in other.named_parameters() if n not in layers)
            inside = sum(_bytes(other.get_parameter(name)) for name in layers)
            error = float((logits - truth).norm() / truth.norm())
            print(
                f"{form:<22} {(inside + rest) / 1e6:>7.2f} {inside / 1e6:>9.2f} {8 * inside / count:>5.2f} "
                f"{error:>11.4f} {perplexities[form]:>10.3f}"
            )
    assert perplexities["fp32"] < 120
    assert perplexities["nf4, fp32 arithmetic"] < 1.1 * perplexities["fp32"]


def _bytes(weight: torch.nn.Parameter) -> int:
    """Of a weight with the scales that bitsandbytes keeps beside it."""
    size = weight.numel() * weight.element_size()
    state = getattr(weight, "quant_state", None)
    while state is not None:
        size += state.absmax.numel() * state.absmax.element_size()
        state = getattr(state, "state2", None)
    return size
