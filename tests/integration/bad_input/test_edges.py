"""Ids, dates, files and words at the edge of what is meant: one clear error or answer, by the route that found it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.cli.output import fail
from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.text.calendar.timestamps import whole
from nscma_torch.text.files.file_readers import read_messages

LAST = datetime(9999, 12, 29, tzinfo=UTC)
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `nscma …` in an empty folder with light models."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "light.toml").write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n[hierarchy]\nenabled = false\n')
    monkeypatch.setenv("NSCMA_CONFIG", "light.toml")
    monkeypatch.delenv("NSCMA_STORE", raising=False)
    return lambda *arguments, input=None: CliRunner().invoke(app, list(arguments), input=input)


def test_an_export_of_nobody_is_no_backup(filled: Memory, run: Run, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="'eve' has no memory in this store"):
        list(filled.export(user_id="eve"))
    for user, said in (("eve", "has no memory"), (" ", "user_id must be")):
        result = run("export", "backup.jsonl", "--user", user, "--store", str(tmp_path / "store.db"))
        assert result.exit_code == 1 and said in str(result.exception)
        assert not [path.name for path in tmp_path.iterdir() if "backup" in path.name]


def test_the_end_of_the_calendar(filled: Memory) -> None:
    """December 9999 has no day after it."""
    filled.add("I moved to Lima this month, and I like it.", user_id="ada", timestamp=LAST, now=LAST)
    filled.flush()
    assert filled.stats().failures == ()
    assert filled.search("What did I do this month, on 9999-12-31?", user_id="ada", now=LAST)
    assert "Lima" in filled.ask("Where did I move this month?", user_id="ada", now=LAST).text
    first = datetime(9999, 12, 1).date()
    assert whole(first, LAST.date()) == "month" and whole(LAST.date(), LAST.date().replace(day=31)) == ""


@pytest.mark.parametrize("name", ["table.xlsx", "program.py", "slides.pptx", "picture.png"])
def test_a_file_of_an_unknown_type_is_refused(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text("name,city\nAda,Rome\n")
    with pytest.raises(InvalidInputError, match=r"only \.json, \.jsonl.*nscma add -"):
        list(read_messages(tmp_path / name))
    result = run("add", name)
    assert result.exit_code == 1 and name in str(result.exception) and not (tmp_path / "nscma.db").exists()
    assert len(list(read_messages(tmp_path / name, format="text"))) == 1
    (tmp_path / "README").write_text("The door code is 4711.")
    assert len(list(read_messages(tmp_path / "README"))) == 1


def test_no_control_sequence_reaches_the_terminal(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    fail(NotFoundError("there is no file \x1b[31mred\x07"))
    assert "\x1b[31m" not in capfd.readouterr().err
    for arguments in (
        ("add", "\x1b[31mred.txt"),
        ("get", "\x1b[31mred"),
        ("stats", "--store", "\x1b[31mred.db"),
        ("erase", "\x1b[31mred", "--user", "\x1b[31mred"),
        ("chat",),
    ):
        result = run(*arguments, input="/forget \x1b[31mred\n/\x1b[31mred\n")
        assert "\x1b[31m" not in result.output + result.stderr, arguments


def test_a_skill_needs_a_trigger_and_steps(run: Run) -> None:
    for arguments in (("--add", "release"), ("--add", "release", "--trigger", "on Fridays"), ("--trigger", "a", "b")):
        result = run("skills", *arguments)
        assert result.exit_code == 2 and "--trigger" in result.stderr and "--step" in result.stderr


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Hi, how are you?", "That isn't a question about your memories; ask about something that was said."),
        ("你好！", "这不是对记忆的提问；请问说过的事情。"),
    ],
)
def test_small_talk_is_no_question_to_the_memory(text: str, answer: str, filled: Memory) -> None:
    asked = filled.ask(text, user_id="ada")
    assert (asked.text, asked.abstained, asked.evidence) == (answer, True, ())
    if "?" in text:
        assert Controller(filled, None, user_id="ada").turn(text).text == answer
    assert "isn't a question" not in filled.ask("Hi, how are you doing with the zeppelin?", user_id="ada").text


def test_the_beginning_of_an_id_is_enough(run: Run) -> None:
    run("add", "--text", "I moved to Porto in March.")
    run("add", "--text", "I have a dog called Rex.")
    first, second = (entry["id"] for entry in json.loads(run("log", "--json").stdout))
    assert "Porto" in run("get", first[:8]).stdout and "Rex" in run("get", second[:12]).stdout
    assert "ADD" in run("history", first[:8]).stdout
    assert run("update", first[:8], "I moved to Lisbon in March.").stdout == f"updated {first}\n"
    assert first in run("delete", first[:8]).stdout and first in run("restore", first[:8]).stdout
    for short in (first[:7], "ffffffff", "nothing!"):
        result = run("get", short)
        assert result.exit_code == 1 and "has no" in str(result.exception)
    (decision,) = [one for one in json.loads(run("conflicts", "--json").stdout)["decisions"] if "Rex" in one["object"]]
    assert decision["id"] in run("undo", decision["id"][:8]).stdout
    assert json.loads(run("erase", first[:8], "--yes", "--json").stdout)["item_id"] == first
    assert [entry["id"] for entry in json.loads(run("log", "--json").stdout)] == [second]


def test_the_beginning_of_several_ids(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "--text", "I moved to Porto in March.")
    monkeypatch.setattr("nscma_torch.maintenance.id_prefixes.beginning_with", lambda *_: ["abcdef0123", "abcdef0145"])
    result = run("erase", "abcdef01", "--yes")
    assert result.exit_code == 1 and "abcdef0123, abcdef0145" in str(result.exception)
    assert len(json.loads(run("log", "--json").stdout)) == 1
