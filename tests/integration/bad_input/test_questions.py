"""Questions that are too long: one error by every way in, and the store as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import TextTooLargeError

WAYS: dict[str, Callable[[Memory, str], object]] = {
    "the question": lambda memory, text: memory.ask(text, user_id="ada"),
    "the query": lambda memory, text: memory.search(text, user_id="ada"),
    "the situation": lambda memory, text: memory.find_skills(text, user_id="ada"),
    "what the user says": lambda memory, text: Controller(memory, user_id="ada").turn(text),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_question_above_the_limit(name: str, filled: Memory, untouched: Any) -> None:
    text = "我最喜欢的颜色是什么" * 4_000
    with untouched(TextTooLargeError, f"{name} has 40,000 characters, more than limits.max_question_characters"):
        WAYS[name](filled, text)


@pytest.mark.parametrize("name", WAYS)
def test_the_limit_is_configured(name: str, open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config={"limits": {"max_question_characters": 20}})
    memory.add("I moved to Porto.", user_id="ada")
    WAYS[name](memory, "Where do I live now?")
    with pytest.raises(TextTooLargeError, match="has 21 characters"):
        WAYS[name](memory, "Where do I live now??")


@pytest.mark.parametrize("command", ["ask", "search"])
def test_on_the_command_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "light.toml").write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n')
    paths = ["--store", str(tmp_path / "store.db"), "--config", str(tmp_path / "light.toml")]
    assert CliRunner().invoke(app, ["add", "--text", "I moved to Porto.", *paths]).exit_code == 0
    result = CliRunner().invoke(app, [command, "sister's " * 2_000, *paths])
    assert result.exit_code != 0
    assert "max_question_characters" in str(result.exception or result.output)
