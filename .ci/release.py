"""Prepare and check a release: one version in every file that names it, and its section of the changelog.

python .ci/release.py prepare 0.2.0             sets the version, and turns [Unreleased] into [0.2.0]
python .ci/release.py check v0.2.0 --owner nscma  fails unless the tag, the files and the account agree
python .ci/release.py notes 0.2.0               prints the section of the changelog
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = r"\d+\.\d+\.\d+"
PLACES = {  # each match is followed by a version
    "pyproject.toml": r'^version = "',
    "nscma_torch/__init__.py": r'^__version__ = "',
    "CITATION.cff": r"^version: ",
    "configs/deploy/server.json": r'"version": "|"nscma-torch\[server\]==',
}


class ReleaseError(Exception):
    """A release that can't be made; the message says what to change."""


def versions(root: Path) -> set[str]:
    """Return every version that the files name. Raises `ReleaseError` if a file names none."""
    found: set[str] = set()
    for name, before in PLACES.items():
        here = re.findall(rf"(?:{before})([^\"\s]+)", (root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if not here:
            raise ReleaseError(f"{name} names no version: correct PLACES in .ci/release.py")
        found.update(here)
    return found


def notes(root: Path, version: str) -> str:
    """Return a version's section of the changelog without its heading. Raises `ReleaseError` if it has no text."""
    sections = re.split(r"^## \[(.+?)\].*\n", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = dict(zip(sections[1::2], sections[2::2], strict=True)).get(version, "").strip()
    if not text:
        raise ReleaseError(f"CHANGELOG.md has nothing under [{version}]")
    return text + "\n"


def prepare(root: Path, version: str, day: date) -> None:
    """Set the version everywhere, and give what was unreleased its heading. Raises `ReleaseError`, changing nothing, if
    the version is not three numbers, is in the changelog already, or nothing is unreleased.
    """
    if not re.fullmatch(VERSION, version):
        raise ReleaseError(f"{version!r} is not three numbers with dots between them, such as 0.2.0")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## [{version}]" in changelog:
        raise ReleaseError(f"CHANGELOG.md already has [{version}]: choose the next version")
    notes(root, "Unreleased")
    versions(root)
    for name, before in PLACES.items():
        text = (root / name).read_text(encoding="utf-8")
        text = re.sub(rf"({before}){VERSION}", rf"\g<1>{version}", text, flags=re.MULTILINE)
        (root / name).write_text(text, encoding="utf-8")
    heading = f"## [Unreleased]\n\n## [{version}] - {day.isoformat()}\n"
    (root / "CHANGELOG.md").write_text(changelog.replace("## [Unreleased]\n", heading, 1), encoding="utf-8")


def check(root: Path, tag: str, owner: str) -> None:
    """Raise `ReleaseError` unless the tag is the version of every file, the changelog has it, and the names in the MCP
    registry are of this account.
    """
    version = tag.removeprefix("v")
    if found := versions(root) - {version}:
        raise ReleaseError(f"the tag is {tag}, but files name {', '.join(sorted(found))}: run `prepare` and tag again")
    notes(root, version)
    name = json.loads((root / "configs/deploy/server.json").read_text(encoding="utf-8"))["name"]
    if name.lower() != f"io.github.{owner}/nscma-torch".lower():
        raise ReleaseError(
            f"server.json is of {name}, the account is {owner}: change it and configs/deploy/mcp-name.md"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["prepare", "check", "notes"])
    parser.add_argument("version")
    parser.add_argument("--owner", default="", help="account of the repository; for check")
    given = parser.parse_args()
    try:
        if given.task == "prepare":
            prepare(ROOT, given.version, date.today())
        elif given.task == "check":
            check(ROOT, given.version, given.owner)
        else:
            print(notes(ROOT, given.version), end="")
    except ReleaseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
