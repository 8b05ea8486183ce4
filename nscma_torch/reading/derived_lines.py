"""Write the lines of texts derived during sleep, without a language model, by the rules for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.reading.day_lines import day_insights, day_summary, portrait, summary_of_days
from nscma_torch.reading.insights import insights

_Lines = list[list[SourcedLine]]
_Groups = Sequence[Sequence[Unit]]

_RULES: Mapping[str, Callable[[_Groups, int], _Lines]] = MappingProxyType(
    {
        "insight": lambda groups, _: insights(groups),
        "daily_summary": lambda groups, words: [day_summary(group, words) for group in groups],
        "global_summary": lambda groups, words: [summary_of_days(group, words) for group in groups],
        "daily_insight": lambda groups, _: [day_insights(group) for group in groups],
        "portrait": lambda groups, words: [portrait(group, words) for group in groups],
    }
)


def lines(kind: str, groups: _Groups, words: int | None) -> _Lines:
    """Return the lines of a given kind for each group. Raises `ConfigError` for a kind that needs a language model."""
    if kind not in _RULES:
        raise ConfigError(f"texts of kind {kind!r} need a language model: set llm.engine")
    return _RULES[kind](groups, words or 0)
