"""`nscma chat` as a user would run it: piped lines, a restart, commands, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nscma_torch.cli import app
from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import EngineUnavailableError

Chat = Callable[..., Result]


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Runs `nscma chat …` in an empty folder with light models; each line is typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "light.toml").write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n[hierarchy]\nenabled = false\n')
    monkeypatch.setenv("NSCMA_CONFIG", "light.toml")
    monkeypatch.delenv("NSCMA_STORE", raising=False)

    def run(*lines: str, options: tuple[str, ...] = ()) -> Result:
        return CliRunner().invoke(app, ["chat", *options], input="\n".join(lines) + "\n")

    return run


def ok(result: Result) -> list[str]:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout.splitlines()


def test_it_remembers_when_it_is_started_again(chat: Chat) -> None:
    first = ok(chat("I moved to Porto last March.", "", "/facts"))
    assert first[0] == "Noted." and "  + user lives in Porto" in first
    assert any("user lives in Porto" in line and "March" in line for line in first[2:])
    again = ok(chat("Where do I live?", "/why", "/quit", "Where do I live?"))
    assert again[0] == "Porto" and again.count("Porto") == 1, "/quit ends it"
    assert "I moved to Porto last March." in again[1], "the memory that was used is shown, with its day"
    assert any("above the threshold" in line for line in again) and any("stored as" in line for line in again)


def test_users_and_conversations_are_apart(chat: Chat) -> None:
    ok(chat("I moved to Porto last March.", options=("--user", "ana")))
    assert "don't know" in ok(chat("Where do I live?", options=("--user", "bob")))[0]
    assert ok(chat("Where do I live?", options=("--user", "ana", "--run", "work")))[0] == "Porto", "one memory"
    shown = ok(chat("/memory", options=("--user", "ana", "--run", "work")))
    assert not any("I moved" in line for line in shown), "each has its own context"


def test_instructions_and_forgetting(chat: Chat) -> None:
    taken = ok(chat("From now on, call me Captain.", "I moved to Porto last March."))
    shown = ok(chat("/memory"))
    (rule,) = [line for line in shown if line.endswith("  always: From now on, call me Captain.")]
    assert f"  + always: From now on, call me Captain. ({rule.split()[0]})" in taken
    identity = next(line.split()[0] for line in shown if "I moved" in line)
    gone = ok(chat(f"/forget {identity}", "Where do I live?", "/facts"))
    assert "nscma restore" in gone[0] and "don't know" in gone[1] and not any("Porto" in line for line in gone)
    ok(chat(f"/forget {rule.split()[0]}"))
    assert not any("Captain" in line for line in ok(chat("/memory"))), "a rule can be taken back"
    wrong = chat("/forget zzz")
    assert wrong.exit_code == 1 and "no message has an id" in " ".join(wrong.stderr.split())
    bare = chat("/forget")
    assert bare.exit_code == 1 and "needs a message id" in " ".join(bare.stderr.split())
    assert "is not a command; nothing was stored" in ok(chat("/etc is a folder"))[0]
    assert "/why" in ok(chat("/help"))[0] and ok(chat("/why"))[0] == "no message yet"


def test_feedback(chat: Chat) -> None:
    lines = ok(chat("I moved to Porto last March.", "Where do I live?", "/good", "/bad"))
    assert [line for line in lines if "counted" in line] == ["  counted", "  counted"]
    wrong = chat("/good")
    assert wrong.exit_code == 1 and "no message yet" in " ".join(wrong.stderr.split())


def test_json_is_a_line_for_each_reply(chat: Chat) -> None:
    lines = ok(chat("I moved to Porto last March.", "Where do I live?", options=("--json",)))
    replies = [json.loads(line) for line in lines]
    assert [reply["text"] for reply in replies] == ["Noted.", "Porto"]
    assert replies[1]["evidence"][0]["text"] == "I moved to Porto last March." and replies[1]["turn_id"]


def test_a_failing_turn_is_the_one_error_and_ends_a_pipe(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Controller, said: str, **_: object) -> None:
        raise EngineUnavailableError("the server is away")

    monkeypatch.setattr(Controller, "turn", fail)
    result = chat("Hello", "Hello again")
    assert result.exit_code == 1 and isinstance(result.exception, EngineUnavailableError)
    assert "Traceback" not in result.output
