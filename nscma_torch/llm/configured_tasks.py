"""Language tasks that use a configured engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nscma_torch.core.config import Config
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.prompted import PromptedTasks, SureExtraction
from nscma_torch.reading.relations import Schema, open_schema

if TYPE_CHECKING:
    from nscma_torch.reading.embedded_tasks import EmbeddedTasks


def prompted_tasks(
    config: Config,
    engine: LanguageEngine,
    relations: Schema,
    *,
    tally: Counter[str],
    extract_surely: SureExtraction | None,
) -> PromptedTasks:
    """Return tasks that prompt the engine.

    Args:
        tally: counts requests and dropped output.
        extract_surely: extracts from the texts that need no model; see `sure_extraction`.
    """
    return PromptedTasks(
        engine,
        relations=open_schema(relations) if config.facts.predicates == "open" else relations,
        max_tokens=config.llm.max_tokens,
        temperature=config.llm.temperature,
        summary_words=config.hierarchy.summary_words,
        words=config.answer.words,
        least_known=config.llm.least_known,
        tally=tally,
        extract_surely=extract_surely,
        in_context=config.facts.context == "summary",
    )


def sure_extraction(config: Config, embedded: Callable[[], EmbeddedTasks]) -> SureExtraction | None:
    """Return the extraction by networks of what they are sure about (`facts.instead_of_model`); None if the model reads
    all.
    """
    least = config.facts.instead_of_model
    return partial(embedded().extract_surely, least=least) if least < 1 else None
