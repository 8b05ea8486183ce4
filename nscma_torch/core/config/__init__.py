"""Configuration: pydantic models read from TOML; each key has a description with its unit.

`configs/default.toml` holds every key with its default; a test keeps it equal to these models. An unknown key raises an
error that suggests the nearest known one.
"""

from nscma_torch.core.config.files import default_toml, load_config, override, read_toml
from nscma_torch.core.config.language import LlmConfig
from nscma_torch.core.config.safety import DELETED, RedactionConfig, RetentionConfig
from nscma_torch.core.config.section import Section
from nscma_torch.core.config.sections import (
    FAISS_FACTORY,
    AnswerConfig,
    ChunkerConfig,
    Config,
    ControllerConfig,
    CuratorConfig,
    DailyConfig,
    EmbedderConfig,
    FactsConfig,
    GateConfig,
    GateWeightsConfig,
    HierarchyConfig,
    IndexConfig,
    InsightsConfig,
    LimitsConfig,
    QuestionPairsConfig,
    ReadingConfig,
    RecordsConfig,
    ReflectionConfig,
    RetrievalConfig,
    ScoreConfig,
    ServerConfig,
    StandingConfig,
    StoreConfig,
    SurpriseConfig,
    UpstreamConfig,
    WorkerConfig,
)
from nscma_torch.core.config.telemetry import TelemetryConfig

__all__ = [
    "DELETED",
    "FAISS_FACTORY",
    "AnswerConfig",
    "ChunkerConfig",
    "Config",
    "ControllerConfig",
    "CuratorConfig",
    "DailyConfig",
    "EmbedderConfig",
    "FactsConfig",
    "GateConfig",
    "GateWeightsConfig",
    "HierarchyConfig",
    "IndexConfig",
    "InsightsConfig",
    "LimitsConfig",
    "LlmConfig",
    "QuestionPairsConfig",
    "ReadingConfig",
    "RecordsConfig",
    "RedactionConfig",
    "ReflectionConfig",
    "RetentionConfig",
    "RetrievalConfig",
    "ScoreConfig",
    "Section",
    "ServerConfig",
    "StandingConfig",
    "StoreConfig",
    "SurpriseConfig",
    "TelemetryConfig",
    "UpstreamConfig",
    "WorkerConfig",
    "default_toml",
    "load_config",
    "override",
    "read_toml",
]
