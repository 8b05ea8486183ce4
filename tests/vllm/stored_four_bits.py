"""The tiny Llama with random 4-bit weights, laid out as AWQ, GPTQ and compressed-tensors checkpoints are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

GROUP = 32  # weights that share a scale


def store(source: Path, target: Path, scheme: str) -> Path:
    """Copy a model folder with its linear layers in a 4-bit scheme."""
    shutil.copytree(source, target)
    weights = load_file(source / "model.safetensors")
    stored: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        base = name.removesuffix(".weight")
        if base.endswith("_proj"):
            stored |= {f"{base}.{part}": tensor for part, tensor in _packed(weight, scheme).items()}
        else:
            stored[name] = weight.to(torch.float16)
    save_file(stored, target / "model.safetensors", {"format": "pt"})
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config |= {"dtype": "float16", "quantization_config": _settings(scheme)}
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return target


def _packed(weight: torch.Tensor, scheme: str) -> dict[str, torch.Tensor]:
    """The tensors of one layer [out, in]: random 4-bit numbers in words of eight, and scales of the weight's size."""
    out, into = weight.shape
    generator = torch.Generator().manual_seed(out + into)

    def words(*shape: int) -> torch.Tensor:
        return torch.randint(-(2**31), 2**31 - 1, shape, generator=generator, dtype=torch.int32)

    scales = torch.full((into // GROUP, out), float(weight.std()) / 8, dtype=torch.float16)
    zeros = torch.full((into // GROUP, out // 8), 0x77777777 if scheme == "gptq" else -0x77777778, dtype=torch.int32)
    if scheme == "awq":
        return {"qweight": words(into, out // 8), "qzeros": zeros, "scales": scales}
    if scheme == "gptq":
        order = torch.arange(into, dtype=torch.int32) // GROUP
        return {"qweight": words(into // 8, out), "qzeros": zeros, "scales": scales, "g_idx": order}
    shape = torch.tensor([out, into], dtype=torch.int64)
    return {"weight_packed": words(out, into // 8), "weight_scale": scales.T.contiguous(), "weight_shape": shape}


def _settings(scheme: str) -> dict[str, Any]:
    if scheme == "awq":
        return {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}
    if scheme == "gptq":
        return {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False, "sym": True}
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": GROUP}
    groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": ["lm_head"],
    }
