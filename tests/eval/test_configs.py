"""Every configuration of configs/eval: its kinds, options and names are those that there are, and its report is one."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from eval.contract import Shared, System
from eval.report import OPTIONS
from eval.reporting.part import option_at, read
from eval.reporting.sweeps import Sweeps
from eval.run_config import RunConfig, read_config
from eval.stand_ins import IndifferentProxy
from eval.systems.baseline import Baseline
from eval.systems.catalogue import make_system
from eval.systems.memories import MemorySystem
from eval.tasks.catalogue import KINDS
from eval.tasks.options import TaskOptions, read_options
from nscma_torch import load_config
from nscma_torch.config import Section
from nscma_torch.text.hash_embedder import HashEmbedder
from tests.llm.scripted import ScriptedEngine

FILES = sorted((Path(__file__).parents[2] / "configs" / "eval").glob("*.toml"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def config(request: pytest.FixtureRequest) -> RunConfig:
    found: Path = request.param
    return read_config(found)


def options_of(kind: str) -> type[TaskOptions]:
    """The options of a kind of task, which stand in its module."""
    here = vars(sys.modules[KINDS[kind].__module__]).values()
    (found,) = [one for one in here if inspect.isclass(one) and issubclass(one, TaskOptions) and one is not TaskOptions]
    return found


def test_there_is_one_for_each_table_and_figure() -> None:
    assert {path.stem for path in FILES} >= {"babilong", "ablations", "knowledge_update", "structural", "cam", "smoke"}


def test_its_tasks_have_options_that_there_are(config: RunConfig) -> None:
    for section in config.tasks.values():
        read_options(options_of(section["kind"])(), section)


def resolved(system: System) -> tuple[Section, ...]:
    """All that a system is made of, defaults and the run's own sections of the configuration included."""
    if isinstance(system, Baseline):
        return (system.options,)
    assert isinstance(system, MemorySystem)
    return system.options.model_copy(update={"config": {}}), system.setup.config, system.setup.llm


@pytest.fixture
def chroma(tmp_path: Path) -> str:
    """An interpreter that answers as ChromaDB's process does when it is asked for its version."""
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nwhile read -r line; do echo \'{"version": "0"}\'; done\n')
    program.chmod(0o755)
    return str(program)


def test_its_systems_can_be_made_and_no_two_are_the_same(config: RunConfig, chroma: str) -> None:
    load_config(config.memory)
    engine = ScriptedEngine(lambda _: "") if "llm" in config.memory else None
    shared = Shared(config.memory, HashEmbedder(), IndifferentProxy(), engine, None, 1)  # type: ignore[arg-type]
    seen: dict[str, str] = {}
    for section in config.systems.values():
        own = {key: value for key, value in section.items() if key != "tasks"}
        system = make_system({**own, "python": chroma} if own["kind"] == "rag" else own, shared)
        assert system.name == section["name"]
        if "sweeps" in config.given.get("report", {}):
            continue  # where two sweeps cross, they meet
        made_of = repr((section["kind"], resolved(system)))
        assert made_of not in seen, f"{system.name!r} is {seen[made_of]!r} under another name"
        seen[made_of] = system.name


def test_without_the_controller_as_much_is_retrieved(config: RunConfig) -> None:
    for section in config.systems.values():
        if section["name"] == "without controller":
            assert section["top_k"] == load_config(config.memory).controller.top_k


def test_its_judge_is_a_language_model(config: RunConfig) -> None:
    if "judge" in config.given:
        assert load_config(config.given["judge"]).llm.engine != "embedded"


def test_its_report_names_what_it_runs(config: RunConfig) -> None:
    for part, values in config.given.get("report", {}).items():
        options = read(OPTIONS[part], values, part)
        assert set(options.tasks) <= set(config.tasks)
        assert values.get("reference", next(iter(config.systems))) in config.systems
        if isinstance(options, Sweeps):
            for sweep in options.sweeps:
                sections = config.tasks if sweep.over == "tasks" else config.systems
                for names in sweep.lines.values():
                    values_of = [option_at(sections[name], sweep.key) for name in names]
                    assert sorted(set(values_of)) == values_of, "each a number, in order"
        if part == "grid":
            for section in config.systems.values():
                assert option_at(section, values["rows"]) and option_at(section, values["columns"])
