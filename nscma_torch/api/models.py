"""The models that a configuration names, loaded."""

from __future__ import annotations

from pathlib import Path

import torch

from nscma_torch.core.config import Config
from nscma_torch.core.config import Proxy as ProxySection
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import Proxy
from nscma_torch.llm.engines.contract import ScoringEngine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.llm.message_tokens import MessageTokenizer
from nscma_torch.surprise.byte_model.bundled_model import RecurrentProxy
from nscma_torch.surprise.language_models.transformers_model import CausalProxy
from nscma_torch.surprise.language_models.vllm_model import VllmProxy


def serve_proxy(config: Config, engine: LazyEngine | None) -> Proxy:
    """The proxy that is the model of a configuration's [llm] section, which starts for it.

    Raises `ConfigError` for an engine that gives no probabilities.
    """
    tokenizer = MessageTokenizer.load(config.proxy.model)
    started = None if engine is None else engine.started()
    if not isinstance(started, ScoringEngine):
        raise ConfigError(
            f"proxy.engine is 'llm', and {config.llm.engine if started is None else started.name} gives no "
            "probabilities of a text; set llm.engine to 'vllm', or to 'http' with llm.server 'vllm', or proxy.engine "
            "to 'own'"
        )
    return VllmProxy(started, tokenizer, window=config.proxy.window)


def load_proxy(section: ProxySection, device: torch.device) -> Proxy:
    """The proxy of a configuration's [proxy] section, with weights of its own."""
    dtype = None if section.dtype == "auto" else getattr(torch, section.dtype)
    path = Path(section.model)
    if section.model == "bundled" or path.is_file() or path.suffix == ".safetensors":
        if section.quantization != "none":
            raise ConfigError("proxy.quantization is for causal language models; the byte-level proxy has a few MB")
        return RecurrentProxy.load(None if section.model == "bundled" else path, device=str(device), dtype=dtype)
    return CausalProxy.load(
        section.model, device=device, dtype=dtype, quantization=section.quantization, window=section.window
    )
