"""Create the configured engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.engines.lazy import LazyEngine, LazyStreamingEngine

if TYPE_CHECKING:
    import torch


def choose_engine(section: LlmConfig, device: Callable[[], torch.device]) -> LazyEngine | None:
    """Return the engine for an [llm] section, not started yet, or None for the embedded language tasks.

    Args:
        device: returns the device for the transformers engine; vLLM uses the device that it was built for.
    """
    if section.engine == "embedded":
        return None
    make, lazy = _ENGINES[section.engine]
    name = f"{section.engine}/{section.model}" if section.model else f"{section.engine} at {section.base_url}"
    return lazy(name, lambda: make(section, device))


def _http(section: LlmConfig, _device: Callable[[], torch.device]) -> LanguageEngine:
    from nscma_torch.llm.engines.openai_http import OpenAIEngine
    from nscma_torch.llm.engines.retry_policy import ROUNDS, RetryPolicy

    return OpenAIEngine(
        section.base_url,
        server=section.server,
        model=section.model or None,
        api_key=api_key(section.api_key_env),
        context=section.context or None,
        concurrency=section.concurrency,
        retry_policy=RetryPolicy(read=section.timeout, total=ROUNDS * section.timeout, attempts=section.attempts),
    )


def api_key(variable: str) -> str | None:
    """Return the key in an environment variable. Raises `ConfigError` if the variable is named but not set."""
    if not variable:
        return None
    key = os.environ.get(variable, "")
    if not key:
        raise ConfigError(f"llm.api_key_env names {variable}, which is not set; export it, or omit the key")
    return key


def _transformers(section: LlmConfig, device: Callable[[], torch.device]) -> LanguageEngine:
    import torch

    from nscma_torch.llm.engines.local import TransformersEngine

    return TransformersEngine(
        section.model,
        device=device(),
        dtype=None if section.dtype == "auto" else getattr(torch, section.dtype),
        quantization="nf4" if section.quantization == "nf4" else "none",
        context=section.context or None,
        adapter=_adapter(section),
    )


def _vllm(section: LlmConfig, _device: Callable[[], torch.device]) -> LanguageEngine:
    from nscma_torch.llm.engines.vllm_engine import VllmEngine

    assert section.quantization != "nf4", "the configuration was checked"
    return VllmEngine(
        section.model,
        dtype=section.dtype,
        quantization=section.quantization,
        context=section.context or None,
        memory_share=section.gpu_memory_share,
        concurrency=section.concurrency,
        adapter=_adapter(section),
    )


def _adapter(section: LlmConfig) -> Path | None:
    return Path(section.adapter) if section.adapter else None


_ENGINES: Mapping[str, tuple[Callable[[LlmConfig, Callable[[], torch.device]], LanguageEngine], type[LazyEngine]]] = {
    "http": (_http, LazyStreamingEngine),
    "transformers": (_transformers, LazyStreamingEngine),
    "vllm": (_vllm, LazyEngine),
}
