"""The [llm] section: the engine, and the keys each engine uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from nscma_torch.core.config.section import Section


class LlmConfig(Section):
    """The language model that extracts, summarizes, judges and answers; without one, rules do."""

    engine: Literal["embedded", "http", "transformers", "vllm"] = Field(
        "embedded",
        description="'embedded' (rules, no model), 'http' (an OpenAI-compatible server), or in this process "
        "'transformers' or 'vllm'.",
    )
    model: str = Field("", description="Folder or Hub name; on a server its model name, empty if it serves only one.")
    base_url: str = Field("http://127.0.0.1:8000", description="The server's address, with or without /v1.")
    server: Literal["vllm", "llama.cpp", "other"] = Field(
        "vllm", description="Kind of server, which decides how tokens are counted; 'other' needs context."
    )
    api_key_env: str = Field("", description="Environment variable that holds the server's key; empty for none.")
    quantization: Literal["none", "nf4", "awq", "gptq", "compressed-tensors", "bitsandbytes"] = Field(
        "none",
        description="4-bit weights, if the engine loads them: 'nf4' with transformers; with vllm 'awq', 'gptq' or "
        "'compressed-tensors' (as the model is stored) or 'bitsandbytes' (packed while loading, by vllm-bnb-plugin).",
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Precision of the weights, if the engine loads them."
    )
    context: int = Field(0, ge=0, description="Maximum tokens of prompt and reply together; 0 for the model's own.")
    max_tokens: int = Field(1024, gt=0, description="Maximum tokens of a reply, including the controller's.")
    temperature: float = Field(
        0.0, ge=0, le=2, description="Sampling temperature, also of the controller; 0 is greedy."
    )
    concurrency: int = Field(16, gt=0, description="Maximum requests in flight, or sequences in a batch.")
    timeout: float = Field(300.0, gt=0, description="Seconds without a byte after which an attempt fails.")
    attempts: int = Field(
        4,
        gt=0,
        description="Attempts per request while the server is down or overloaded, within 3 timeouts in all.",
    )
    gpu_memory_share: float = Field(
        0.6, gt=0, lt=1, description="Share of the GPU's memory for the model, if the engine loads it."
    )
    adapter: str = Field("", description="Folder of a LoRA adapter, if the engine loads the model; empty for none.")

    @model_validator(mode="after")
    def _is_used(self) -> Self:
        fields = type(self).model_fields
        used = _USED[self.engine]
        changed = [name for name in fields if name not in used and getattr(self, name) != fields[name].default]
        if changed:
            raise ValueError(f"engine {self.engine!r} does not use {', '.join(changed)}; remove it")
        if self.engine in QUANTIZATIONS:
            if not self.model:
                raise ValueError(f"engine {self.engine!r} needs model, the folder or Hub name of a language model")
            if self.quantization not in QUANTIZATIONS[self.engine]:
                known = ", ".join(repr(name) for name in QUANTIZATIONS[self.engine])
                raise ValueError(
                    f"engine {self.engine!r} supports the quantizations {known}, not {self.quantization!r}"
                )
        return self


_SPOKEN = frozenset({"engine", "model", "context", "max_tokens", "temperature"})  # keys that every model has a use for
_LOADED = _SPOKEN | {"quantization", "dtype", "adapter"}
_USED: Mapping[str, frozenset[str]] = {
    "embedded": frozenset({"engine"}),
    "http": _SPOKEN | {"base_url", "server", "api_key_env", "concurrency", "timeout", "attempts"},
    "transformers": _LOADED,
    "vllm": _LOADED | {"concurrency", "gpu_memory_share"},
}
QUANTIZATIONS: Mapping[str, tuple[str, ...]] = {  # quantizations of the engines that load weights
    "transformers": ("none", "nf4"),
    "vllm": ("none", "awq", "gptq", "compressed-tensors", "bitsandbytes"),
}
