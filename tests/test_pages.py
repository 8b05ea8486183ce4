"""The pages beside the README: their links lead somewhere, their form is what tools expect."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("name", ["AGENTS.md", "docs/extending.md"])
def test_the_tree_names_every_folder(name: str) -> None:
    tree = text_of(name).partition("<!-- tree: begin -->")[2].partition("<!-- tree: end -->")[0]
    folders = {path.parent.name for path in (ROOT / "nscma_torch").glob("*/__init__.py")}
    named = set(re.findall(r"[\w-]+", tree))
    missing = folders - named - {"configs"}
    assert not missing, f"the tree in {name} lacks {sorted(missing)}"


def test_agents_md_fits_a_screen() -> None:
    assert len(text_of("AGENTS.md").splitlines()) <= 65


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


def test_the_citation_has_the_form_and_the_license() -> None:
    lines = dict(re.findall(r"^(\S+): (.+)$", text_of("CITATION.cff"), flags=re.MULTILINE))
    assert lines["cff-version"] == "1.2.0"
    assert f'license = "{lines["license"]}"' in text_of("pyproject.toml")


def test_the_changelog_has_its_sections() -> None:
    versions = re.findall(r"^## \[(.+?)\]", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert versions[0] == "Unreleased"
    released = [tuple(map(int, version.split("."))) for version in versions[1:]]
    assert released == sorted(set(released), reverse=True), "three numbers each, the newest first"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Renamed"}
    assert set(re.findall(r"^### (.+)$", text_of("CHANGELOG.md"), flags=re.MULTILINE)) <= kinds
