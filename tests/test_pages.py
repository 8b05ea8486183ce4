"""The pages beside the README: their links lead somewhere, their versions agree, their form is what tools expect."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nscma_torch

ROOT = Path(__file__).parents[1]
PAGES = (
    *("README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "eval/README.md"),
    "nscma_torch/reading/weights/README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("eval/results/*.md"))),
)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_files_that_a_page_names_are_there(name: str) -> None:
    """Links, and paths in code marks outside of blocks; an example's own files are not."""
    prose = re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)]+)\)", prose) if "://" not in link]
    marked = re.findall(r"`((?:nscma_torch|kernels|tests|configs|eval|train|docs)/[\w/.-]+\.\w+)`", prose)
    for path in marked:
        assert (ROOT / path).exists(), f"{name} names {path}, which is not there"
    for link in links:
        path, _, section = link.partition("#")
        page = (ROOT / name).parent / path if path else ROOT / name
        assert page.exists(), f"{name} links to {path}, which is not there"
        if section and "generated" not in page.read_text(encoding="utf-8"):  # mkdocs checks those pages
            titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
            assert section in slugs, f"{name} links to {link}: no such section"


def test_llms_txt_lists_every_page() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", text_of("docs/llms.txt"))
    assert sorted(linked) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_only_its_owner_reads_a_store(open_memory: Callable[..., Any], light_surprise: Any, tmp_path: Path) -> None:
    """SECURITY.md promises it, whatever the umask."""
    before = os.umask(0)
    try:
        open_memory(surprise_model=light_surprise).add("I live in Porto.", user_id="u")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)


def test_the_citation_is_of_this_version() -> None:
    lines = dict(re.findall(r"^(\S+): (.+)$", text_of("CITATION.cff"), flags=re.MULTILINE))
    assert lines["cff-version"] == "1.2.0"
    assert lines["version"] == nscma_torch.__version__
    assert f'license = "{lines["license"]}"' in text_of("pyproject.toml")
    assert f'version = "{lines["version"]}"' in text_of("pyproject.toml")


def test_the_changelog_has_its_sections() -> None:
    versions = re.findall(r"^## \[(.+?)\]", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert versions[0] == "Unreleased"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Renamed"}
    assert set(re.findall(r"^### (.+)$", text_of("CHANGELOG.md"), flags=re.MULTILINE)) <= kinds


def test_the_workflow_runs_what_must_hold() -> None:
    workflow = text_of(".github/workflows/ci.yml")
    assert re.findall(r"^ +- run: (.+)$", workflow, flags=re.MULTILINE) == [".ci/run"]
    assert 'python-version: "3.11"' in workflow and "cache: pip" in workflow
    used = re.findall(r"uses: (\S+)", workflow)
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in used), "pinned by major version"
    listed = subprocess.run(["git", "ls-files", "-s", ".ci/run"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert listed.stdout.startswith("100755"), ".ci/run must be executable"
    for path in re.findall(r"^ {12}(\S+)$", workflow, flags=re.MULTILINE):
        assert (ROOT / path).exists(), path
