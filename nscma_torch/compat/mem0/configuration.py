"""mem0's configuration, from which only the memory's location is used here."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nscma_torch.core.config import Config, load_config
from nscma_torch.core.errors import ConfigError

logger = logging.getLogger(__name__)

_COLLECTION = "mem0"
_UNUSED = ("llm", "embedder", "reranker", "custom_instructions")


class Mem0Component(BaseModel):
    """A component in mem0's configuration: a provider and its settings."""

    model_config = ConfigDict(extra="forbid")

    provider: str = ""
    config: dict[str, Any] | None = None


class ExtraSettings(BaseModel):
    """Settings in addition to mem0's configuration.

    Args:
        store: the database file.
        config: sections for this library's configuration, or the path of a TOML file.
    """

    model_config = ConfigDict(extra="forbid")

    store: Path | None = None
    config: dict[str, Any] | str | None = None


class MemoryConfig(BaseModel):
    """The keys of `mem0.configs.base.MemoryConfig`, and `nscma`.

    The memory is stored in `nscma.store`. If this isn't set, it is stored in the folder `vector_store.config.path`, or
    else in the folder of `history_db_path`, in a file named after the collection. Models in mem0's configuration are
    ignored, as this memory has its own.
    """

    model_config = ConfigDict(extra="allow")

    vector_store: Mem0Component = Field(default_factory=Mem0Component)
    llm: Mem0Component | None = None
    embedder: Mem0Component | None = None
    reranker: Mem0Component | None = None
    history_db_path: str = Field(default_factory=lambda: str(_home() / "history.db"))
    version: str = "v1.1"
    custom_instructions: str | None = None
    nscma: ExtraSettings = Field(default_factory=ExtraSettings)

    @property
    def store(self) -> Path:
        """Return the database file. Raises `ConfigError` if the configuration gives no location on disk."""
        if self.nscma.store is not None:
            return self.nscma.store.expanduser()
        settings = self.vector_store.config or {}
        folder = settings.get("path")
        if folder is None and self.history_db_path == ":memory:":
            raise ConfigError("a store is a file, and history_db_path is ':memory:'; set nscma.store to a file")
        base = Path(self.history_db_path).parent if folder is None else Path(folder)
        return base.expanduser() / f"{settings.get('collection_name', _COLLECTION)}.nscma.db"

    @property
    def settings(self) -> Config:
        """Return this library's configuration."""
        return load_config(self.nscma.config)


def configuration(config: MemoryConfig | Mapping[str, Any] | None) -> MemoryConfig:
    """Build a configuration from mem0's argument. Raises `ConfigError` for a value of the wrong type.

    Ignored keys are listed in one warning.
    """
    if config is None:
        return MemoryConfig()
    if not isinstance(config, MemoryConfig):
        if not isinstance(config, Mapping):
            raise ConfigError(f"config must be a MemoryConfig or a dict, got {type(config).__name__}")
        try:
            config = MemoryConfig.model_validate(dict(config))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ConfigError(f"configuration key {where}: {first['msg']}") from error
    unused = [name for name in _UNUSED if name in config.model_fields_set] + sorted(config.model_extra or {})
    if unused:
        logger.warning("unused keys in mem0's configuration: %s; this memory has its own models", ", ".join(unused))
    return config


def _home() -> Path:
    return Path(os.environ.get("MEM0_DIR") or "~/.mem0").expanduser()
