"""Load the models specified in a configuration."""

from __future__ import annotations

from pathlib import Path

import torch

from nscma_torch.core.config import Config, SurpriseConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.llm.engines.contract import ScoringEngine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.llm.message_tokens import MessageTokenizer
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.language_models.transformers_model import CausalSurpriseModel
from nscma_torch.surprise.language_models.vllm_model import VllmSurpriseModel


def serve_surprise_model(config: Config, engine: LazyEngine | None) -> SurpriseModel:
    """Return the model in a configuration's [llm] section as the surprise model, starting it if needed.

    Raises `ConfigError` if the engine returns no probabilities.
    """
    tokenizer = MessageTokenizer.load(config.surprise.model)
    started = None if engine is None else engine.started()
    if not isinstance(started, ScoringEngine):
        raise ConfigError(
            f"surprise.engine is 'llm', and {config.llm.engine if started is None else started.name} returns no "
            "probabilities; set llm.engine to 'vllm', or to 'http' with llm.server 'vllm', or "
            "surprise.engine to 'own'"
        )
    return VllmSurpriseModel(started, tokenizer, window=config.surprise.window)


def load_surprise_model(section: SurpriseConfig, device: torch.device) -> SurpriseModel:
    """Load the surprise model specified in a [surprise] section, with its own weights."""
    dtype = None if section.dtype == "auto" else getattr(torch, section.dtype)
    path = Path(section.model)
    if section.model == "bundled" or path.is_file() or path.suffix == ".safetensors":
        if section.quantization != "none":
            raise ConfigError(
                "surprise.quantization applies to causal language models only; the byte-level model takes only a few MB"
            )
        return ByteSurpriseModel.load(None if section.model == "bundled" else path, device=str(device), dtype=dtype)
    return CausalSurpriseModel.load(
        section.model, device=device, dtype=dtype, quantization=section.quantization, window=section.window
    )
