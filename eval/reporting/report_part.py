"""A part of a report, and how the options of each are read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from eval.reporting.results import Results
from eval.reporting.tables import Table
from nscma_torch.core.config import Section, override
from nscma_torch.core.errors import ConfigError


@dataclass(frozen=True)
class Figure:
    """A picture: the name of its file without the ending, what it shows, and what draws it into a file."""

    name: str
    title: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Part:
    """A section of the Markdown."""

    title: str
    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
    text: str = ""


class Options(Section):
    """Base of a part's options, a table under [report] of the configuration."""

    tasks: tuple[str, ...] = Field((), description="Their names; all tasks where there are none.")
    metric: str = Field("", description="The first of each task where it is empty.")

    def tasks_of(self, results: Results) -> Sequence[str]:
        """The tasks that the part is about, as far as they were run; ConfigError where none was."""
        run = [name for name in self.tasks if name in results.tasks]
        if self.tasks and not run:
            known(self.tasks[0], results.tasks, "task")
        return run or results.tasks

    def metric_of(self, results: Results, task: str) -> str:
        """The metric of that task; ConfigError where it has no such metric."""
        if self.metric:
            known(self.metric, results.metrics[task], f"metric of {task}")
        return self.metric or results.metrics[task][0]


OptionsT = TypeVar("OptionsT", bound=Options)


def known(name: str, names: Sequence[str], what: str) -> str:
    """The name; ConfigError with the nearest one where it is none of them."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    raise ConfigError(f"[report] names {name!r}, which is no {what} of this run; did you mean {', '.join(close)!r}?")


def read(defaults: OptionsT, values: Mapping[str, Any], part: str) -> OptionsT:
    """The options of a part; ConfigError for an unknown key or a bad value."""
    return override(defaults, values, where=f"[report.{part}]")


def option_at(section: Mapping[str, Any], key: str) -> Any:
    """The value at a dotted key of a section; ConfigError where there is none."""
    value: Any = section
    for name in key.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise ConfigError(f"the section of {section.get('name')!r} has no key {key!r}, which [report] asks for")
        value = value[name]
    return value
