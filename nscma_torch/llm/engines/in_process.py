"""Base class for engines that load a model into this process. The model's own chat template builds and
counts prompts.
"""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.llm.engines.chat_template import ChatTemplate
from nscma_torch.llm.engines.contract import Turn


class InProcessEngine:
    """Prompt handling for an in-process `LanguageEngine`."""

    def __init__(self, name: str, template: ChatTemplate, context: int) -> None:
        self._name = name
        self._template = template
        self._context = context

    @property
    def name(self) -> str:
        """Return the names of the engine and the model, with adapter and quantization."""
        return self._name

    @property
    def context(self) -> int:
        """Return the maximum number of tokens in prompt and reply together."""
        return self._context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Return the exact number of tokens in each prompt, including the template. Raises the first `EngineError`."""
        return [len(self._template.encode(turns)) for turns in prompts]

    def _closed_error(self) -> EngineUnavailableError:
        return EngineUnavailableError(f"the engine {self._name} was closed")
