"""The errors from `mem0.exceptions` that can occur here.

If mem0 raises a `ValueError`, so does this package. Errors with the same cause in both libraries are one class with two
names: `except LLMError` catches an `EngineError`. Errors from mem0's hosted service have no counterpart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nscma_torch.core.errors import (
    ConfigError,
    EngineError,
    InvalidInputError,
    MissingDependencyError,
    ModelError,
    NotFoundError,
    NscmaError,
    StoreError,
)

__all__ = [
    "ConfigurationError",
    "DatabaseError",
    "DependencyError",
    "EmbeddingError",
    "LLMError",
    "MemoryError",
    "MemoryNotFoundError",
    "ValidationError",
    "VectorStoreError",
]

ConfigurationError = ConfigError
DatabaseError = VectorStoreError = StoreError
DependencyError = MissingDependencyError
EmbeddingError = ModelError
LLMError = EngineError


class MemoryError(NscmaError):
    """Base class for errors with mem0's fields: a code, details and a suggestion."""

    def __init__(
        self, message: str, error_code: str, details: Mapping[str, Any] | None = None, suggestion: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code
        self.details = dict(details or {})
        self.suggestion = suggestion


class ValidationError(MemoryError, InvalidInputError):
    """No owner id was given, or the messages or their type are invalid; nothing was stored."""


class MemoryNotFoundError(MemoryError, NotFoundError, ValueError):
    """No memory has this id, or the memory was deleted."""
