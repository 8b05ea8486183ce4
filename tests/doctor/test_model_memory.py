"""Sizes from a configuration alone equal those of the loaded model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.doctor.model_memory import PUBLISHED, config_of, model_shape

TINY = {
    "model_type": "llama",
    "vocab_size": 420,
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}


def loaded(folder: Path, config: dict[str, Any], **options: Any) -> Any:
    """The model written to a folder and read back as an engine does."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    fields = {name: value for name, value in config.items() if name != "model_type"}
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **fields)).save_pretrained(folder)
    return AutoModelForCausalLM.from_pretrained(folder, **options)


def size(model: Any) -> int:
    """Bytes of all that the model holds, the scales of 4-bit weights with it."""
    total = sum(buffer.nbytes for buffer in model.buffers())
    for weight in model.parameters():
        total += weight.nbytes
        state = getattr(weight, "quant_state", None)
        if state is not None:
            inner = state.state2
            parts = (state.absmax, state.code, state.offset, inner.absmax, inner.code)
            total += sum(part.nbytes for part in parts)
    return total


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_plain_weights(tmp_path: Path, tied: bool, dtype: torch.dtype) -> None:
    config = {**TINY, "tie_word_embeddings": tied}
    model = loaded(tmp_path, config, dtype=dtype)
    shape = model_shape(config, kind="language", dtype=dtype)
    assert shape.weights == size(model)
    assert shape.parameters == model.num_parameters()


def test_four_bit_weights(tmp_path: Path) -> None:
    from transformers import BitsAndBytesConfig

    quantized = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    model = loaded(tmp_path, TINY, dtype=torch.bfloat16, quantization_config=quantized, device_map={"": "cpu"})
    assert model_shape(TINY, kind="language", quantization="nf4").weights == size(model)


def test_cache(tmp_path: Path) -> None:
    model = loaded(tmp_path, TINY, dtype=torch.bfloat16)
    with torch.no_grad():
        cache = model(torch.arange(7)[None], use_cache=True).past_key_values
    held = sum(tensor.nbytes for layer in cache.layers for tensor in (layer.keys, layer.values))
    assert 7 * model_shape(TINY, kind="language").cache_per_token == held


@pytest.mark.parametrize(
    ("name", "kind", "parameters"),
    [
        ("meta-llama/Meta-Llama-3-8B-Instruct", "language", 8_030_261_248),
        ("meta-llama/Llama-3.1-8B-Instruct", "language", 8_030_261_248),
        ("BAAI/bge-m3", "embedding", 567_754_752),
    ],
)
def test_published_models_have_the_published_number_of_parameters(name: str, kind: Any, parameters: int) -> None:
    assert model_shape(PUBLISHED[name], kind=kind).parameters == parameters


def test_a_folder_without_weights_is_enough(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY), encoding="utf-8")
    assert config_of(str(tmp_path)) == TINY


@pytest.mark.parametrize("text", ["", "[]", "{}", "\xff"])
def test_a_damaged_configuration(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(ModelError, match=r"config\.json"):
        config_of(str(tmp_path))


def test_unknown_models_are_refused() -> None:
    with pytest.raises(ModelNotFoundError, match="give its folder"):
        config_of("nobody/nothing-1B")
    with pytest.raises(ModelError, match="cannot build"):
        model_shape({"model_type": "no-such-architecture"}, kind="language")
