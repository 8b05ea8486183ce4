"""docs/coming-from.md: both programs of a section take the same steps, and a section stays short.

The programs for this library run in tests/test_docs.py; the others' packages are not installed.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "coming-from.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", PAGE, flags=re.MULTILINE))
OTHERS = tuple(title for title in SECTIONS if title != "Move your data")
STEPS = {"store", "search", "ask", "update", "list", "delete"}


def programs(title: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", SECTIONS[title], flags=re.MULTILINE | re.DOTALL)


def test_the_projects() -> None:
    assert OTHERS == ("mem0", "Letta", "LangMem", "Zep", "Chroma")


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_is_short(title: str) -> None:
    assert len(SECTIONS[title].splitlines()) <= 60


@pytest.mark.parametrize("title", OTHERS)
def test_both_programs_take_the_same_steps(title: str) -> None:
    [theirs], [ours] = programs(title, "py"), programs(title, "python")
    assert re.match(r"# [\w-]+ \d+\.\d+\.\d+\n", theirs), "the version that was checked"
    for program in (theirs, ours):
        ast.parse(program)
        steps = set(re.findall(r"# (\w+)(?::.*)?$", program, flags=re.MULTILINE))
        assert steps >= STEPS, STEPS - steps
