"""Configuration: pydantic models read from TOML, a sentence and a unit with each key.

`configs/default.toml` holds every key with its default; a test keeps it equal to these models. An unknown key is an
error that names the nearest known one.
"""

from nscma_torch.core.config.files import default_toml, load_config, override, read_toml
from nscma_torch.core.config.language import Llm
from nscma_torch.core.config.section import Section
from nscma_torch.core.config.sections import (
    FAISS_FACTORY,
    Answer,
    Chunker,
    Config,
    Controller,
    Curator,
    Daily,
    Embedder,
    Facts,
    Gate,
    GateWeights,
    Hierarchy,
    Index,
    Insights,
    Limits,
    QuestionPairs,
    Reading,
    Records,
    Reflection,
    Retrieval,
    Score,
    Server,
    Store,
    Surprise,
    Upstream,
    Worker,
)

__all__ = [
    "FAISS_FACTORY",
    "Answer",
    "Chunker",
    "Config",
    "Controller",
    "Curator",
    "Daily",
    "Embedder",
    "Facts",
    "Gate",
    "GateWeights",
    "Hierarchy",
    "Index",
    "Insights",
    "Limits",
    "Llm",
    "QuestionPairs",
    "Reading",
    "Records",
    "Reflection",
    "Retrieval",
    "Score",
    "Section",
    "Server",
    "Store",
    "Surprise",
    "Upstream",
    "Worker",
    "default_toml",
    "load_config",
    "override",
    "read_toml",
]
