"""A release: one version in every file, workflows that name what exists, and the entry for the MCP registry."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typer.main import get_command

import nscma_torch
from nscma_torch.cli import app

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """.ci/release.py"""
    return program("release")


def program(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(release: ModuleType, tmp_path: Path) -> Path:
    """Copies of the files that name a version, and a short changelog."""
    for name in release.PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A lid.\n")
    return tmp_path


def test_every_file_names_the_same_version(release: ModuleType) -> None:
    assert release.versions(ROOT) == {nscma_torch.__version__}
    assert re.fullmatch(release.VERSION, nscma_torch.__version__)


def test_a_release_is_prepared(release: ModuleType, tree: Path) -> None:
    release.prepare(tree, "7.8.9", date(2027, 1, 2))
    assert release.versions(tree) == {"7.8.9"}
    changelog = (tree / "CHANGELOG.md").read_text()
    assert changelog == "# Changelog\n\n## [Unreleased]\n\n## [7.8.9] - 2027-01-02\n\n### Added\n\n- A lid.\n"
    assert release.notes(tree, "7.8.9") == "### Added\n\n- A lid.\n"
    release.check(tree, "v7.8.9", "nscma")
    server = json.loads((tree / "configs/deploy/server.json").read_text())
    assert server["packages"][0]["runtimeArguments"][0]["value"] == "nscma-torch[server]==7.8.9"


def test_the_first_release_keeps_its_version(release: ModuleType, tree: Path) -> None:
    before = {name: (tree / name).read_text() for name in release.PLACES}
    release.prepare(tree, nscma_torch.__version__, date(2027, 1, 2))
    assert {name: (tree / name).read_text() for name in release.PLACES} == before
    release.check(tree, f"v{nscma_torch.__version__}", "NSCMA")


@pytest.mark.parametrize(
    ("version", "changelog", "message"),
    [
        ("1.0", None, "three numbers"),
        ("1.0.0rc1", None, "three numbers"),
        ("1.0.0", "## [Unreleased]\n\n- A lid.\n\n## [1.0.0] - 2027-01-01\n\n- A box.\n", "choose the next version"),
        ("1.0.1", "## [Unreleased]\n\n## [1.0.0] - 2027-01-01\n\n- A box.\n", r"nothing under \[Unreleased\]"),
    ],
)
def test_what_is_no_release_changes_nothing(
    release: ModuleType, tree: Path, version: str, changelog: str | None, message: str
) -> None:
    if changelog:
        (tree / "CHANGELOG.md").write_text(changelog)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(release.ReleaseError, match=message):
        release.prepare(tree, version, date(2027, 1, 2))
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_a_tag_that_does_not_fit_is_refused(release: ModuleType, tree: Path) -> None:
    release.prepare(tree, "7.8.9", date(2027, 1, 2))
    with pytest.raises(release.ReleaseError, match=r"the tag is v7\.8\.8, but files name 7\.8\.9"):
        release.check(tree, "v7.8.8", "nscma")
    with pytest.raises(release.ReleaseError, match="the account is somebody"):
        release.check(tree, "v7.8.9", "somebody")
    text = (tree / "CITATION.cff").read_text().replace("version: 7.8.9", "version: 7.8.8")
    (tree / "CITATION.cff").write_text(text)
    with pytest.raises(release.ReleaseError, match=r"but files name 7\.8\.8"):
        release.check(tree, "v7.8.9", "nscma")


def test_the_commands_of_the_program() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "release.py")]
    wrong = subprocess.run([*command, "check", "v0.0.0"], capture_output=True, text=True)
    assert wrong.returncode == 1 and wrong.stderr.startswith("the tag is v0.0.0, but files name "), wrong.stderr
    right = subprocess.run([*command, "notes", "Unreleased"], capture_output=True, text=True)
    assert right.returncode == 0 and right.stdout.endswith("\n"), right.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_names_is_there(path: Path) -> None:
    """Targets of make, files of the checkout, jobs; actions are pinned by major version, jobs limited in time."""
    yaml = pytest.importorskip("yaml")
    jobs: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= jobs.keys()
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                pinned = r"(actions/[\w-]+@v\d+|pypa/gh-action-pypi-publish@release/v1)"
                assert re.fullmatch(pinned, step["uses"]), step["uses"]
                for name in step.get("with", {}).get("cache-dependency-path", "").split():
                    assert (ROOT / name).is_file(), name
                continue
            assert set(re.findall(r"\bmake ([\w-]+)", step["run"])) <= targets, step["run"]
            for name in re.findall(r"(?<!\S)((?:tests|configs|\.ci)(?:/[\w.-]+)+)", step["run"]):
                assert (ROOT / name).exists(), name


def test_ci_runs_what_must_hold() -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert [step["run"] for step in jobs["test"]["steps"] if "run" in step] == [".ci/run"]
    listed = subprocess.run(["git", "ls-files", "-s", ".ci/run"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert listed.stdout.startswith("100755"), ".ci/run must be executable"
    matrix = jobs["system"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == classified


def test_a_tag_alone_publishes() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    assert {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})} == {"pypi", "registry"}
    assert jobs["pypi"]["needs"] == ["build", "image"] and jobs["pypi"]["environment"] == "pypi"
    assert jobs["notes"]["needs"] == jobs["registry"]["needs"] == "pypi"
    secrets = set(re.findall(r"secrets\.(\w+)", (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")))
    assert secrets == {"GITHUB_TOKEN"}, "no secret is kept for a release"


class Strict(BaseModel):
    """Keys in camel case; no others are known."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class Argument(Strict):
    type: Literal["named", "positional"]
    name: str | None = Field(default=None, pattern="^--")
    value: str
    description: str = ""


class Variable(Strict):
    name: str
    description: str
    is_required: bool = False
    format: Literal["string", "number", "boolean", "filepath"] = "string"
    placeholder: str = ""


class Package(Strict):
    registry_type: Literal["pypi"]
    registry_base_url: Literal["https://pypi.org"]
    identifier: Literal["nscma-torch"]
    version: str
    runtime_hint: Literal["uvx"]
    runtime_arguments: list[Argument]
    package_arguments: list[Argument]
    transport: dict[Literal["type"], Literal["stdio"]]
    environment_variables: list[Variable]


class Server(Strict):
    """The part that this project uses of the registry's schema of 2025-12-11, with its limits."""

    schema_: str = Field(alias="$schema", pattern=r"/schemas/2025-12-11/server\.schema\.json$")
    name: str = Field(pattern=r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", min_length=3, max_length=200)
    title: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1, max_length=100)
    version: str = Field(max_length=255)
    packages: list[Package] = Field(min_length=1, max_length=1)


def test_the_entry_for_the_mcp_registry() -> None:
    server = Server.model_validate_json((ROOT / "configs/deploy/server.json").read_text(encoding="utf-8"))
    package = server.packages[0]
    assert server.version == package.version == nscma_torch.__version__
    assert [argument.value for argument in package.runtime_arguments] == [f"nscma-torch[server]=={package.version}"]
    assert [argument.value for argument in package.package_arguments] == ["mcp"]
    command = get_command(app).commands["mcp"]  # type: ignore[attr-defined]
    assert {variable.name for variable in package.environment_variables} <= {one.envvar for one in command.params}


def test_the_sizes_of_an_environment(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for name, size in (("small", 10), ("large", 3000)):
        (site / name).mkdir(parents=True)
        (site / name / "data").write_bytes(b"x" * size)
        (site / name / "code.pyc").write_bytes(b"x" * 7)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"{name}/data,,\n{name}/code.pyc,,\n{name}/gone,,\n")
    assert program("environment_size").sizes(str(site)) == {"small": 10, "large": 3000}
    command = [sys.executable, str(ROOT / ".ci" / "environment_size.py"), "--most"]
    for most, message in (("0.1", ""), ("0.001", "more than 0.001 MB\n")):
        environment = {**os.environ, "PYTHONPATH": str(site)}
        done = subprocess.run([*command, most], capture_output=True, text=True, env=environment)
        assert done.stderr == message and done.returncode == bool(message)
        assert done.stdout.split()[2::3][:2] == ["large", "small"]
