"""What a shell is told when somebody presses TAB, and the script that makes it ask."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.completion import completion_init
from typer.testing import CliRunner

from nscma_torch import Memory
from nscma_torch.cli import app
from nscma_torch.cli.commands import MODULES


@pytest.fixture
def completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """`completed("nscma a")`: what bash is told of the last word."""
    completion_init()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NSCMA_STORE", raising=False)

    def ask(line: str) -> list[str]:
        words = line.split(" ")
        asking = {"_NSCMA_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        result = CliRunner().invoke(app, [], env=asking, prog_name="nscma")
        return result.stdout.split()

    return ask


def test_commands_options_and_users(completed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with Memory("kept.db", config={"embedder": {"model": "hash"}}) as memory:
        for user in ("ana", "an_na", "anxna", "tom"):
            memory.add("Ok.", user_id=user, infer=False)
    assert completed("nscma se") == ["setup", "search", "sessions", "serve"]
    assert completed("nscma token ") == ["add", "list", "revoke"]
    assert completed("nscma ask --no") == ["--now", "--no-server"]
    assert completed("nscma ask --store kept.db --user an") == ["an_na", "ana", "anxna"]
    assert completed("nscma ask --store kept.db --user an_") == ["an_na"]
    assert completed("nscma ask --user a") == [], "there is no nscma.db here"
    (tmp_path / "nscma.db").write_text("no database, whatever its name says")
    assert completed("nscma ask --user a") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.db", "nscma.db"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_the_shell(shell: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["completion", shell])
    assert result.exit_code == 0 and f"_NSCMA_COMPLETE=complete_{shell}" in result.stdout
    if shutil.which(shell):
        (tmp_path / "script").write_text(result.stdout)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_other_shells_are_refused() -> None:
    assert CliRunner().invoke(app, ["completion", "tcsh"]).exit_code == 2


def test_every_command_is_in_the_table() -> None:
    """A module that registers a command which the table lacks would never be imported for it."""
    folder = Path(__file__).parents[2] / "nscma_torch" / "cli"
    for path in folder.glob("*.py"):
        registers = any(word in path.read_text(encoding="utf-8") for word in ("@o.app.command", "o.app.add_typer"))
        assert registers == (path.stem in MODULES.values()), path.name
    for name in MODULES:
        shown = CliRunner().invoke(app, [name, "--help"])
        assert shown.exit_code == 0 and "Usage: " in shown.stdout, name
    registered = {one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands}
    assert registered | {str(one.name) for one in app.registered_groups} == set(MODULES)


def test_what_is_misspelt_is_named() -> None:
    assert "'search'" in CliRunner().invoke(app, ["serch"]).stderr
