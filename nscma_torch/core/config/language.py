"""The [llm] section: the engine, and the keys each engine uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from nscma_torch.core.config.section import Section


class LlmConfig(Section):
    """The language model that extracts, summarizes, judges and answers. Without a model, rules are used."""

    engine: Literal["embedded", "http", "transformers", "vllm"] = Field(
        "embedded",
        description="'embedded' (rules, no model), 'http' (an OpenAI-compatible server), or in this process "
        "'transformers' or 'vllm'.",
    )
    model: str = Field(
        "",
        description="Folder or Hub name of the model; for a server, the name of a model it "
        "serves, or empty if it serves only one.",
    )
    base_url: str = Field("http://127.0.0.1:8000", description="The server's address, with or without /v1.")
    server: Literal["vllm", "llama.cpp", "other"] = Field(
        "vllm",
        description="Kind of server, which decides how tokens are counted; 'other' requires `context` to be set.",
    )
    api_key_env: str = Field(
        "",
        description="Name of the environment variable that contains the server's API key; "
        "empty if the server needs no key.",
    )
    quantization: Literal["none", "nf4", "awq", "gptq", "compressed-tensors", "bitsandbytes"] = Field(
        "none",
        description="Quantization to 4 bits, if the engine loads the weights: 'nf4' for transformers; for vllm, "
        "'awq', 'gptq' or 'compressed-tensors' (matching how the model is stored) or 'bitsandbytes' (quantized "
        "during loading by vllm-bnb-plugin).",
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Precision of the weights, if the engine loads them."
    )
    context: int = Field(
        0, ge=0, description="Maximum tokens in prompt and reply together; 0 uses the model's own limit."
    )
    max_tokens: int = Field(1024, gt=0, description="Maximum tokens in a reply, including replies to the controller.")
    temperature: float = Field(
        0.0, ge=0, le=2, description="Sampling temperature, also for the controller; 0 is greedy decoding."
    )
    least_known: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Minimum probability that the messages contain an answer, pooled from the model's and the trained "
        "reader's; below it, the answer is that it doesn't know.",
    )
    concurrency: int = Field(16, gt=0, description="Maximum concurrent requests, or sequences per batch.")
    timeout: float = Field(300.0, gt=0, description="Seconds without receiving data after which an attempt fails.")
    attempts: int = Field(
        4,
        gt=0,
        description="Attempts per request while the server is down or overloaded; together they take at most 3 * "
        "timeout.",
    )
    gpu_memory_share: float = Field(
        0.6, gt=0, lt=1, description="Fraction of the GPU's memory to use for the model, if the engine loads it."
    )
    adapter: str = Field(
        "", description="Folder that contains a LoRA adapter, if the engine loads the model; empty to use no adapter."
    )

    @model_validator(mode="after")
    def _is_used(self) -> Self:
        fields = type(self).model_fields
        used = _USED[self.engine]
        changed = [name for name in fields if name not in used and getattr(self, name) != fields[name].default]
        if changed:
            raise ValueError(f"engine {self.engine!r} does not use {', '.join(changed)}; remove the key")
        if self.engine in QUANTIZATIONS:
            if not self.model:
                raise ValueError(f"engine {self.engine!r} needs model, the folder or Hub name of a language model")
            if self.quantization not in QUANTIZATIONS[self.engine]:
                known = ", ".join(repr(name) for name in QUANTIZATIONS[self.engine])
                raise ValueError(
                    f"engine {self.engine!r} supports the quantizations {known}, not {self.quantization!r}"
                )
        return self


_SPOKEN = frozenset(
    {"engine", "model", "context", "max_tokens", "temperature", "least_known"}
)  # keys that every model has a use for
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
