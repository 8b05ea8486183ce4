"""The engine that a configuration names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from nscma_torch.config import Llm
from nscma_torch.errors import ConfigError
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.engines.http import HttpEngine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.llm.engines.patience import Patience

_ROUNDS = 3  # silences of full length that all attempts together may take


def choose_engine(section: Llm) -> LanguageEngine | None:
    """The engine of an [llm] section, not started yet; None for the embedded language tasks."""
    if section.engine == "embedded":
        return None
    make = _ENGINES[section.engine]
    name = f"{section.engine}/{section.model}" if section.model else f"{section.engine} at {section.base_url}"
    return LazyEngine(name, lambda: make(section))


def _http(section: Llm) -> LanguageEngine:
    return HttpEngine(
        section.base_url,
        server=section.server,
        model=section.model or None,
        api_key=_key(section.api_key_env),
        context=section.context or None,
        concurrency=section.concurrency,
        patience=Patience(read=section.timeout, total=_ROUNDS * section.timeout, attempts=section.attempts),
    )


def _key(variable: str) -> str | None:
    """The key in an environment variable; ConfigError where it is named and empty."""
    if not variable:
        return None
    key = os.environ.get(variable, "")
    if not key:
        raise ConfigError(f"llm.api_key_env names {variable}, which is not set; export it, or leave the key out")
    return key


_ENGINES: Mapping[str, Callable[[Llm], LanguageEngine]] = {"http": _http}
