"""A small Llama with random weights, loaded in 4 bits as an engine loads it: size, error of the weights, speed."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from eval.experiments.gpu.clock import milliseconds
from eval.experiments.gpu.held import held_bytes
from eval.experiments.gpu.part import Row, expect
from nscma_torch.doctor.model_memory import config_of, model_shape
from nscma_torch.llm.loading import load_causal_lm

_LARGE = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 4, "num_attention_heads": 16}
_ERROR = 0.12  # of NF4 relative to normally distributed weights it is .09 (QLoRA, section 3: 4-bit quantiles)


def four_bit(device: torch.device, quick: bool) -> Iterator[Row]:
    """bfloat16 and NF4 beside each other, both as large as the memory plan says, within 5 %."""
    with tempfile.TemporaryDirectory() as folder:
        importlib.import_module("tests.llm.tiny_llama").build(Path(folder), **({} if quick else _LARGE))
        config = config_of(folder)
        ids = torch.arange(16 if quick else 512, device=device)[None] % config["vocab_size"]
        matrix = None
        for quantization in ("none", "nf4"):
            with held_bytes(device) as held:
                loaded = load_causal_lm(folder, device=device, dtype=torch.bfloat16, quantization=quantization)
                held.count(loaded.model)
            planned = model_shape(config, kind="language", quantization=quantization).weights
            ratio = held.bytes / planned
            expect(abs(ratio - 1) < 0.05, f"{quantization}: {held.bytes:,} bytes, and {planned:,} are planned")
            values: dict[str, float | int | str] = {"MiB": held.bytes / 2**20, "MiB / planned": ratio}
            weight = loaded.model.model.layers[0].mlp.up_proj.weight
            if matrix is None:
                matrix = weight.detach().float()
            else:
                values["relative error of a matrix"] = error = _error(weight, matrix)
                expect(error < _ERROR, f"a matrix in NF4 is off by {error:.3f} of its norm")
            with torch.no_grad():
                expect(bool(loaded.model(ids).logits.isfinite().all()), f"{quantization}: logits are not finite")
                run = {"ms": lambda model=loaded.model: model(ids)}
                values["ms of a prompt"] = milliseconds(run, device, 1 if quick else 10)["ms"]
            shape = f"{config['num_hidden_layers']} layers of {config['hidden_size']}, prompt of {ids.shape[1]}"
            yield Row(f"Llama, weights {quantization}", shape, "bfloat16", values)
            del loaded, weight


def _error(weight: Any, matrix: torch.Tensor) -> float:
    from bitsandbytes.functional import dequantize_4bit

    unpacked = dequantize_4bit(weight.data, weight.quant_state).float()
    return float((unpacked - matrix).norm() / matrix.norm())
