"""Every configuration of configs/eval: its kinds, options and names are those that there are, and its report is one."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import pytest

from eval.harness.contract import Shared, System
from eval.harness.fakes import IndifferentSurpriseModel
from eval.harness.run_config import RunConfig, read_config
from eval.report import OPTIONS
from eval.reporting.report_part import option_at, read
from eval.reporting.results import raw_lines
from eval.reporting.sweeps import Sweeps
from eval.systems import peer
from eval.systems.baseline import Baseline
from eval.systems.catalogue import make_system
from eval.systems.memories import MemorySystem
from eval.tasks.catalogue import KINDS
from eval.tasks.options import TaskOptions, read_options
from nscma_torch import load_config
from nscma_torch.core.config import Section
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.llm.scripted import ScriptedEngine

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "configs" / "eval"
FILES = sorted(FOLDER.glob("*.toml"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def config(request: pytest.FixtureRequest) -> RunConfig:
    found: Path = request.param
    return read_config(found)


def options_of(kind: str) -> type[TaskOptions]:
    """The options of a kind of task, which stand in its module."""
    module = KINDS[kind].__module__
    here = [one for one in vars(sys.modules[module]).values() if inspect.isclass(one) and one.__module__ == module]
    (found,) = [one for one in here if issubclass(one, TaskOptions)]
    return found


def test_there_is_one_for_each_table_and_figure() -> None:
    assert {path.stem for path in FILES} >= {"babilong", "ablations", "knowledge_update", "structural", "cam", "smoke"}
    assert {path.stem for path in FILES} >= {"longmemeval", "gpu_24gb", "multi_gpu"}


def test_its_tasks_have_options_that_there_are(config: RunConfig) -> None:
    for section in config.tasks.values():
        read_options(options_of(section["kind"])(), section)


def resolved(system: System) -> tuple[Section, ...]:
    """All that a system is made of, defaults and the run's own sections of the configuration included."""
    if isinstance(system, Baseline | peer.Peer):
        return (system.options,)
    assert isinstance(system, MemorySystem)
    return system.options.model_copy(update={"config": {}}), system.setup.config, system.setup.llm


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An interpreter that answers as a package's process does when it is asked for its version."""
    monkeypatch.setattr(peer, "VERSIONS", dict.fromkeys(peer.VERSIONS, "0"))
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nwhile read -r line; do echo \'{"version": "0"}\'; done\n')
    program.chmod(0o755)
    return str(program)


def test_its_systems_can_be_made_and_no_two_are_the_same(config: RunConfig, python: str) -> None:
    load_config(config.memory)
    engine = ScriptedEngine(lambda _: "") if "llm" in config.memory else None
    seen: dict[str, str] = {}
    for section in config.systems.values():
        memory = config.memory_of(section["name"])
        shared = Shared(memory, HashEmbedder(), IndifferentSurpriseModel(), engine, None, 1)  # type: ignore[arg-type]
        own = config.options_of(section["name"])
        system = make_system({**own, "python": python} if own["kind"] in ("rag", "peer") else own, shared)
        assert system.name == section["name"]
        if "sweeps" in config.given.get("report", {}):
            continue  # where two sweeps cross, they meet
        made_of = repr((section["kind"], resolved(system)))
        assert made_of not in seen, f"{system.name!r} is {seen[made_of]!r} under another name"
        seen[made_of] = system.name


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


def test_the_committed_knowledge_updates_are_still_of_their_configuration() -> None:
    """[report] may change after a run, and systems may be added; both metrics that it names were scored."""
    config = read_config(FOLDER / "knowledge_update.toml")
    folder = ROOT / "eval" / "results" / "knowledge_update"
    before = json.loads((folder / "run.json").read_text(encoding="utf-8"))["config"]
    assert [before[key] for key in ("seed", "memory", "tasks")] == [
        config.given[key] for key in ("seed", "memory", "tasks")
    ]
    assert before["systems"] == config.given["systems"][: len(before["systems"])]
    first = next(raw_lines(folder))
    assert set(config.given["report"]["differences"]["metrics"]) <= set(first.metrics)


def test_the_cam_of_its_table_is_that_of_the_paper() -> None:
    config = read_config(FOLDER / "cam_table.toml")
    shared = Shared(config.memory, HashEmbedder(), IndifferentSurpriseModel(), None, None, 1)  # type: ignore[arg-type]
    paper = load_config("papers/cam")
    for name in ("CAM", "CAM online"):
        system = make_system(config.options_of(name), shared)
        assert isinstance(system, MemorySystem)
        for part in ("gate", "chunker", "retrieval", "score"):
            assert getattr(system.setup.config, part) == getattr(paper, part), (name, part)
    assert isinstance(system, MemorySystem) and system.setup.config.hierarchy == paper.hierarchy


def test_the_paper_s_structures_are_retrieved_by_its_parameters() -> None:
    config = read_config(FOLDER / "structural_paper.toml")
    shared = Shared(config.memory, HashEmbedder(), IndifferentSurpriseModel(), None, None, 1)  # type: ignore[arg-type]
    paper = load_config("papers/structural_memory")
    system = make_system(config.options_of("iterative, structure = mixed"), shared)
    assert isinstance(system, MemorySystem)
    made = system.setup.config
    assert (made.gate, made.chunker, made.score) == (paper.gate, paper.chunker, paper.score)
    same = ("lanes", "fusion", "speaker_boost", "candidates")
    assert [getattr(made.retrieval, key) for key in same] == [getattr(paper.retrieval, key) for key in same]
    assert made.retrieval.iterative.ranked_by == paper.retrieval.iterative.ranked_by
    iterative, rerank = paper.retrieval.iterative, paper.retrieval.rerank
    options = {key: config.systems["iterative, structure = mixed"][key] for key in ("t", "n")}
    assert options == {"t": iterative.refined_from, "n": iterative.refinements}
    options = {key: config.systems["rerank, structure = mixed"][key] for key in ("k", "r")}
    assert options == {"k": rerank.looked_at, "r": rerank.kept}
