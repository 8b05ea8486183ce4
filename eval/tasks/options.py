"""Options of a task: its table of the configuration, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import Field

from nscma_torch.core.config import Section, override


class TaskOptions(Section):
    """What every task has."""

    kind: str = Field("", description="Key of eval/tasks/catalogue.py.")
    name: str = Field("", description="For tables; empty for the task's own.")
    questions: int = Field(0, ge=0, description="Most questions of a sample, spread over all of them; 0 for all.")


class NoisyOptions(TaskOptions):
    """What the tasks have whose score is of places of messages alone, so that others can come between them."""

    noise: float = Field(0.0, ge=0, description="Messages of unrelated text added, for each of a sample's own.")
    noise_seed: int = Field(1, description="Of what is added and where; with the task's name and the sample.")
    noise_books: str = Field("novels", description="Folder of *.txt files it is taken from, in that of the data.")


OptionsT = TypeVar("OptionsT", bound=TaskOptions)


def read_options(defaults: OptionsT, section: Mapping[str, Any]) -> OptionsT:
    """The options of a section. Raises `ConfigError` for an unknown key, with the nearest known one, or a bad value."""
    kind, name = section.get("kind", ""), section.get("name", "")
    return override(defaults, section, where=f"task {name!r} of kind {kind!r}")
