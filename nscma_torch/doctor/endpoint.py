"""Ask the configured server for its model, and check that it is the configured kind of server."""

from __future__ import annotations

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, EngineRefusedError, ReplyError
from nscma_torch.llm.engines.choose import api_key
from nscma_torch.llm.engines.contract import Turn
from nscma_torch.llm.engines.openai_http import OpenAIEngine, model_of, served
from nscma_torch.llm.engines.retry_policy import RetryPolicy

PATIENCE = RetryPolicy(connect=2.0, read=5.0, total=5.0, attempts=1)


def endpoint(section: LlmConfig) -> str:
    """Describe what the server in an [llm] section with engine "http" serves. No text is generated.

    Raises `EngineError` if it doesn't respond like an OpenAI-compatible server within five seconds, `ConfigError` if it
    lacks the model, isn't the kind of server given in `llm.server`, or the key isn't set.
    """
    key = api_key(section.api_key_env)
    try:
        models = served(section.base_url, api_key=key, retry_policy=PATIENCE)
    except ReplyError as error:
        raise ReplyError(
            f"{section.base_url} did not respond like an OpenAI-compatible server ({error}); set llm.base_url to the "
            f"address of such a server"
        ) from error
    model = model_of(models, section.model or None)
    context = section.context or model.max_model_len
    told = "its context length is not reported" if context is None else f"{context:,} tokens of context"
    _check_kind(section, model.id, key)
    return f"{section.base_url} is reachable and serves {model.id}, {told}"


def _check_kind(section: LlmConfig, model: str, key: str | None) -> None:
    """Check the kind of server by counting a prompt's tokens, as the engine does before every request."""
    try:
        engine = OpenAIEngine(
            section.base_url,
            server=section.server,
            model=model,
            api_key=key,
            context=section.context or None,
            retry_policy=PATIENCE,
        )
        try:
            engine.count_tokens([(Turn("user", "Hello"),)])
        finally:
            engine.close()
    except (EngineRefusedError, ReplyError) as error:
        others = {"vllm": "'llama.cpp'", "llama.cpp": "'vllm'"}.get(section.server, "'vllm' or 'llama.cpp'")
        raise ConfigError(
            f"the server at {section.base_url} is not {section.server}, contrary to llm.server: it doesn't count "
            f"tokens like one; set llm.server to {others}, or to 'other' with llm.context in tokens"
        ) from error
