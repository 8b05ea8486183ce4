"""The configuration of a run, read from TOML: what is measured on what.

    # which table or figure this is
    seed = 1
    [memory]                   # sections of nscma_torch's configuration that every memory of the run shares
    embedder = { model = "all-MiniLM-L6-v2" }
    [memory.llm]               # engine; without one the embedded tasks read and answer
    [[tasks]]
    kind = "babilong"          # of eval/tasks/catalogue.py; further keys are that kind's
    name = "BABILong 10k"      # for tables
    [[systems]]
    kind = "nscma"             # of eval/systems/catalogue.py, or package.module:Class; further keys are that kind's
    name = "NSCMA full"
    tasks = ["BABILong 10k"]   # optional: only these
    memory = { embedder = { model = "FOLDER" } }  # optional: sections over [memory] for this system alone
    vary = { top_k = [5, 10] } # optional: a system for each value, "NSCMA full, top_k = 5", of several keys for each
                               # combination; keys may be dotted: "memory.embedder.model", "memory.llm.model"

Its SHA-256 is over these keys alone, whatever their layout: comments may change, and so may [report] and [judge], which
are read by what comes after the run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from pathlib import Path
from typing import Any

from eval.systems.options import merged
from nscma_torch.core.config import read_toml
from nscma_torch.core.errors import ConfigError

_KEYS = ("seed", "memory", "tasks", "systems")
_LATER = ("title", "report", "judge")
_OF_THE_RUN = ("tasks", "memory")  # keys of a system that say nothing of how it works


@dataclass(frozen=True)
class RunConfig:
    """What is measured on what.

    Attributes:
        given: as it was written.
        tasks, systems: sections by name, in their order.
    """

    given: Mapping[str, Any]
    seed: int
    memory: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    systems: Mapping[str, Mapping[str, Any]]

    @cached_property
    def sha256(self) -> str:
        """Of what the results depend on."""
        counted = {key: self.given[key] for key in _KEYS if key in self.given}
        return hashlib.sha256(json.dumps(counted, sort_keys=True, default=str).encode()).hexdigest()

    def systems_of(self, task: str) -> list[str]:
        """Names of the systems that are measured on a task."""
        return [name for name, section in self.systems.items() if task in section.get("tasks", self.tasks)]

    def memory_of(self, system: str) -> Mapping[str, Any]:
        """Sections of the configuration that the system's memory, embedder, language model and reader are made from."""
        return merged(self.memory, self.systems[system].get("memory", {}))

    def options_of(self, system: str) -> Mapping[str, Any]:
        """What a system is made from, beside what it shares with others."""
        return {key: value for key, value in self.systems[system].items() if key not in _OF_THE_RUN}


def read_config(path: Path, *, tasks: Sequence[str] = (), systems: Sequence[str] = ()) -> RunConfig:
    """Read the file; ConfigError says what is wrong with it.

    Args:
        tasks, systems: further ones, `package.module:Class`, which stand in tables under the name of the class.
    """
    given = read_toml(path)
    for key, kinds in (("tasks", tasks), ("systems", systems)):
        if kinds:
            added = [{"kind": kind, "name": kind.rpartition(":")[2]} for kind in kinds]
            given = {**given, key: [*given.get(key, []), *added]}
    given = {**given, "systems": _varied(path, given.get("systems"))}
    unknown = sorted(given.keys() - {*_KEYS, *_LATER})
    if unknown:
        raise ConfigError(f"{path}: unknown key {unknown[0]!r}; there are {', '.join((*_KEYS, *_LATER))}")
    seed, memory = given.get("seed", 1), given.get("memory", {})
    if not isinstance(seed, int) or isinstance(seed, bool) or not isinstance(memory, dict):
        raise ConfigError(f"{path}: seed is an integer, and [memory] a section")
    by_task, by_system = (_named(path, key, given.get(key)) for key in ("tasks", "systems"))
    for name, section in by_system.items():
        only = section.get("tasks", [])
        if not isinstance(only, list):
            raise ConfigError(f"{path}: tasks of the system {name!r} must be a list of names")
        check_names(only, by_task, f"{path}: the system {name!r} names the task")
        if not isinstance(section.get("memory", {}), dict):
            raise ConfigError(f"{path}: memory of the system {name!r} must be sections, as [memory] of the run")
    return RunConfig(given, seed, memory, by_task, by_system)


def _varied(path: Path, sections: Any) -> Any:
    """The sections of systems, each that varies keys in as many copies as there are values, or pairs of values."""
    if not isinstance(sections, list):
        return sections
    found: list[Any] = []
    for section in sections:
        if not isinstance(section, dict) or "vary" not in section:
            found.append(section)
            continue
        keys, rest = section["vary"], {key: value for key, value in section.items() if key != "vary"}
        if not (isinstance(keys, dict) and keys and all(isinstance(own, list) and own for own in keys.values())):
            raise ConfigError(f"{path}: vary of the system {section.get('name')!r} must name keys with lists of values")
        for values in product(*keys.values()):
            own = dict(zip(keys, values, strict=True))
            told = ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in own.items())
            found.append(
                {**merged(rest, reduce(merged, map(_nested, own, values), {})), "name": f"{section['name']}, {told}"}
            )
    return found


def _nested(key: str, value: Any) -> dict[str, Any]:
    """A value at a dotted key."""
    first, _, rest = key.partition(".")
    return {first: _nested(rest, value) if rest else value}


def check_names(names: Sequence[str], known: Collection[str], what: str) -> None:
    """ConfigError for a name that there is not."""
    for name in names:
        if name not in known:
            raise ConfigError(f"{what} {name!r}, which there is not; there are {', '.join(map(repr, known))}")


def _named(path: Path, kind: str, sections: Any) -> dict[str, Mapping[str, Any]]:
    if not isinstance(sections, list) or not sections:
        raise ConfigError(f"{path}: there is nothing to run; write at least one [[{kind}]]")
    named: dict[str, Mapping[str, Any]] = {}
    for section in sections:
        for key in ("kind", "name"):
            if not isinstance(section, dict) or not isinstance(section.get(key), str) or not section[key]:
                raise ConfigError(f"{path}: every section of [[{kind}]] needs its {key}, a string")
        if section["name"] in named:
            raise ConfigError(f"{path}: two [[{kind}]] are called {section['name']!r}; results are kept by name")
        named[section["name"]] = section
    return named
