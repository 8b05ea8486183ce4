"""The arithmetic of the memory plan against what models take: weights, cache of keys and values, activations."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Literal

import torch

from eval.experiments.gpu.held import held_bytes
from eval.experiments.gpu.part import Row, expect
from nscma_torch.doctor.model_memory import PUBLISHED, model_shape

_TINY = {"model_type": "llama", "vocab_size": 420, "hidden_size": 128, "intermediate_size": 192}
_TINY |= {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
_LLAMA = {**PUBLISHED["meta-llama/Llama-3.1-8B-Instruct"], "num_hidden_layers": 8}  # a quarter of its layers
_ENCODER = PUBLISHED["BAAI/bge-m3"]
_TINY_ENCODER = {**_ENCODER, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
_TINY_ENCODER |= {"num_attention_heads": 4, "vocab_size": 420}


def memory_plan(device: torch.device, quick: bool) -> Iterator[Row]:
    """A decoder and an encoder with random weights; weights and cache are to be as planned, within 2 %.

    Of activations the plan knows the widest layer alone, so their peak is reported and not judged.
    """
    yield _measured("language", _TINY if quick else _LLAMA, 1, 40 if quick else 4096, device)
    yield _measured("embedding", _TINY_ENCODER if quick else _ENCODER, 4, 40 if quick else 2048, device)
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        context = total - free - torch.cuda.memory_reserved(device)
        values = {"MiB beside torch's allocator, all processes of the card": context / 2**20}
        yield Row("CUDA context and libraries", "one process", "", values)


def _measured(
    kind: Literal["language", "embedding"], config: dict[str, Any] | Any, batch: int, length: int, device: torch.device
) -> Row:
    transformers = importlib.import_module("transformers")
    planned = model_shape(config, kind=kind, dtype=torch.bfloat16)
    fields = {name: value for name, value in config.items() if name != "model_type"}
    described = transformers.AutoConfig.for_model(config["model_type"], **fields)
    auto = transformers.AutoModelForCausalLM if kind == "language" else transformers.AutoModel
    with held_bytes(device) as held:
        with torch.device(device):
            model = auto.from_config(described, dtype=torch.bfloat16).eval()
        held.count(model)
    values: dict[str, float | int | str] = {"weights, MiB": held.bytes / 2**20}
    values["weights / planned"] = held.bytes / planned.weights
    expect(abs(held.bytes / planned.weights - 1) < 0.02, f"{held.bytes:,} bytes; planned are {planned.weights:,}")
    ids = torch.arange(batch * length, device=device).view(batch, length) % config["vocab_size"]
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    with torch.no_grad():
        out = model(ids, use_cache=True, logits_to_keep=1) if kind == "language" else model(ids)
    if kind == "language":
        cache = sum(tensor.nbytes for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values))
        values["cache, MiB"] = cache / 2**20
        values["cache / planned"] = ratio = cache / (batch * length * planned.cache_per_token)
        expect(abs(ratio - 1) < 0.02, f"keys and values take {ratio:.2f} of what is planned")
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() - before
        room = batch * length * (planned.cache_per_token + planned.working_per_token)
        values["cache and activations at most, MiB"] = peak / 2**20
        values["the same / planned"] = peak / room
    what = f"{kind} model, {planned.parameters / 1e6:.0f} M parameters"
    return Row(what, f"{batch} x {length} tokens", "bfloat16", values)
