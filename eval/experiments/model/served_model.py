"""The `[llm]` section for the model on a running server."""

from __future__ import annotations

from typing import Any

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.doctor.servers import DEFAULT_URLS, find_servers

_CONTEXT = 4096  # tokens, where the server does not report it


def served_model(url: str | None, name: str | None) -> LlmConfig:
    """Return the section, and print what was found.

    Raises `ConfigError` if no server responds, or serves several models and none is named.
    """
    servers = find_servers((url,) if url else DEFAULT_URLS)
    if not servers:
        where = url or ", ".join(DEFAULT_URLS)
        raise ConfigError(f"no OpenAI-compatible server responds at {where}; start one, or give its address with --url")
    server = next((one for one in servers if name in (None, *(model.name for model in one.models))), servers[0])
    model = server.model(name)
    context = f"{model.context:,} tokens" if model.context else f"context unknown, {_CONTEXT:,} tokens assumed"
    print(f"{server.program} at {server.url}, {model.name}, {context}")
    section: dict[str, Any] = {"engine": "http", "server": server.kind, "base_url": server.url, "model": model.name}
    if server.kind == "other":
        section["context"] = model.context or _CONTEXT
    return LlmConfig.model_validate(section)
