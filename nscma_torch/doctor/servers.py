"""Find OpenAI-compatible model servers: the program at an address, its models, and their context lengths.

Each program is recognised by a path that only it serves: Ollama `/api/version`, LM Studio `/api/v0/models`, llama.cpp
`/props`. Only vLLM reports `max_model_len` with its models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from nscma_torch.core.errors import ConfigError, EngineError
from nscma_torch.doctor.endpoint import PATIENCE
from nscma_torch.llm.engines.openai_http import connect

if TYPE_CHECKING:
    from nscma_torch.llm.engines.http_client import HttpClient

Program = Literal["Ollama", "LM Studio", "vLLM", "llama.cpp", "unknown"]
DEFAULT_URLS = tuple(f"http://127.0.0.1:{port}" for port in (11434, 1234, 8000, 8080))  # in the order of `Program`
_KINDS: Mapping[Program, Literal["vllm", "llama.cpp", "other"]] = {"vLLM": "vllm", "llama.cpp": "llama.cpp"}


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model on a server. `context` is in tokens, or None if the server doesn't report it, or only when the model is
    loaded; `parameters` is None if the server doesn't report them.
    """

    name: str
    context: int | None
    parameters: int | None = None


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server that responded. `kind` is the value of `llm.server`."""

    url: str
    program: Program
    models: tuple[ServedModel, ...]

    @property
    def kind(self) -> Literal["vllm", "llama.cpp", "other"]:
        """Return the value for `llm.server`, which decides how the engine counts tokens on this server."""
        return _KINDS.get(self.program, "other")

    def model(self, name: str | None) -> ServedModel:
        """Return the model with this name, or if None the only model. Otherwise raises a `ConfigError` that lists the
        names.
        """
        found = {one.name: one for one in self.models}
        if name is None and len(found) == 1:
            return self.models[0]
        if name is None or name not in found:
            problem = f"serves {len(found)} models" if name is None else f"serves no model {name!r}"
            raise ConfigError(f"{self.url} {problem}; choose one with --model: {', '.join(found) or '(none)'}")
        return found[name]


def find_servers(urls: Sequence[str] = DEFAULT_URLS, *, api_key: str | None = None) -> list[ModelServer]:
    """Return the servers that respond at these addresses, in order. Each may take two seconds to connect.

    Raises `ConfigError` for a bad address, `MissingDependencyError` if httpx2 isn't installed.
    """
    found = []
    for url in urls:
        client = connect(url, api_key, 1, PATIENCE)
        try:
            server = _examine(client, url.rstrip("/").removesuffix("/v1"))
        finally:
            client.close()
        if server is not None:
            found.append(server)
    return found


def _examine(client: HttpClient, url: str) -> ModelServer | None:
    listed = _rows(_get(client, "/v1/models"), "data")
    if listed is None:
        return None
    names = [str(row["id"]) for row in listed if "id" in row]
    if _get(client, "/api/version") is not None:
        loaded = {row.get("name"): row.get("context_length") for row in _rows(_get(client, "/api/ps"), "models") or ()}
        sizes = {row.get("name"): _of_ollama(row) for row in _rows(_get(client, "/api/tags"), "models") or ()}
        return ModelServer(
            url, "Ollama", tuple(ServedModel(name, _count(loaded.get(name)), sizes.get(name)) for name in names)
        )
    own = _rows(_get(client, "/api/v0/models"), "data")
    if own is not None:
        chat = [row for row in own if row.get("type") != "embeddings"]
        return ModelServer(
            url,
            "LM Studio",
            tuple(ServedModel(str(row["id"]), _count(row.get("loaded_context_length"))) for row in chat if "id" in row),
        )
    props = _get(client, "/props")
    if isinstance(props, dict) and isinstance(props.get("default_generation_settings"), dict):
        context = _count(props["default_generation_settings"].get("n_ctx"))
        sizes = {row.get("id"): _of_llama_cpp(row) for row in listed}
        return ModelServer(url, "llama.cpp", tuple(ServedModel(name, context, sizes.get(name)) for name in names))
    lengths = {str(row.get("id")): _count(row.get("max_model_len")) for row in listed}
    program: Program = "vLLM" if any(lengths.values()) else "unknown"
    return ModelServer(url, program, tuple(ServedModel(name, lengths[name]) for name in names))


def _get(client: HttpClient, path: str) -> Any:
    """Return the JSON at a path; None if the server is unavailable, refuses, or sends something else."""
    (body,) = client.send(path, [None])
    if isinstance(body, EngineError):
        return None
    try:
        return json.loads(body)
    except ValueError:
        return None


def _rows(body: Any, key: str) -> list[dict[str, Any]] | None:
    rows = body.get(key) if isinstance(body, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else None


def _of_ollama(row: Mapping[str, Any]) -> int | None:
    """Return the number of parameters, which Ollama reports as "1.5B" or "270M"."""
    details = row.get("details")
    size = str(details.get("parameter_size", "")) if isinstance(details, dict) else ""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([MB])", size)
    return round(float(found[1]) * {"M": 1e6, "B": 1e9}[found[2]]) if found else None


def _of_llama_cpp(row: Mapping[str, Any]) -> int | None:
    meta = row.get("meta")
    return _count(meta.get("n_params")) if isinstance(meta, dict) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
