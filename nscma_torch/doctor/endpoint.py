"""Whether the server that a configuration names is there, and which model it serves."""

from __future__ import annotations

from nscma_torch.config import Llm
from nscma_torch.llm.engines.choose import api_key
from nscma_torch.llm.engines.openai_http import model_of, served
from nscma_torch.llm.engines.retry_policy import RetryPolicy

_PATIENCE = RetryPolicy(connect=2.0, read=5.0, total=5.0, attempts=1)


def endpoint(section: Llm) -> str:
    """What the server of an [llm] section with engine "http" serves, asked once, within five seconds.

    Raises EngineError where it does not answer as such a server, ConfigError where it has no such model or the key is
    not set.
    """
    models = served(section.base_url, api_key=api_key(section.api_key_env), retry_policy=_PATIENCE)
    model = model_of(models, section.model or None)
    context = section.context or model.max_model_len
    told = "its context is not listed" if context is None else f"{context:,} tokens of context"
    return f"{section.base_url} is reachable and serves {model.id}, {told}"
