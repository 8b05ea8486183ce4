"""`nscma import --from` with a chat between people: the owner, a newer export, options."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.compat.exports.kinds import KINDS
from nscma_torch.core.errors import InvalidInputError

CHAT = "13/4/24, 10:00 - Ana: I live in Leeds.\n13/4/24, 10:01 - Bob: I live in Rome.\n13/4/24, 10:02 - Bob: ok\n"


@pytest.fixture
def nscma(tmp_path):
    (tmp_path / "light.toml").write_text('embedder.model = "hash"\nreading.model = "none"\n')
    where = ["--user", "ana", "--store", str(tmp_path / "s.db"), "--config", str(tmp_path / "light.toml")]
    return lambda *words: CliRunner().invoke(app, [*words, *where])


def test_a_chat_and_its_newer_export(files, nscma, tmp_path):
    path = str(files({"WhatsApp Chat with Bob.txt": CHAT}))
    unknown = nscma("import", path, "--from", "whatsapp")
    assert isinstance(unknown.exception, InvalidInputError) and "'Bob', 'Ana'" in str(unknown.exception)
    assert not (tmp_path / "s.db").exists()
    done = nscma("import", path, "--from", "whatsapp", "--me", "Ana", "--zone", "Europe/London")
    assert done.exit_code == 0 and "imported 3 messages of whatsapp" in done.output
    newer = CHAT + "13/4/24, 10:02 - Bob: ok\n14/4/24, 09:00 - Ana: <Media omitted>\n"
    files({"WhatsApp Chat with Bob.txt": newer})
    again = nscma("import", path, "--from", "whatsapp", "--me", "Ana", "--zone", "Europe/London", "--json")
    counts = json.loads(again.stdout)
    assert (counts["added"], counts["known"]) == (1, 3)
    assert counts["warnings"] == ["left out: 1 media, calls and deleted messages"]
    listed = json.loads(nscma("log", "--json").stdout)
    assert [(one["role"], one["name"], one["text"]) for one in listed] == [
        ("user", None, "I live in Leeds."),
        ("user", "Bob", "I live in Rome."),
        ("user", "Bob", "ok"),
        ("user", "Bob", "ok"),
    ]


@pytest.mark.parametrize("option", [["--me", "Ana"], ["--zone", "UTC"], ["--dates", "day-first"]])
def test_options_need_a_kind_that_takes_them(files, nscma, tmp_path, option):
    path = str(files({"conversations.json": []}))
    assert nscma("import", path, *option).exit_code == 2
    wrong = nscma("import", path, "--from", "claude", *option)
    assert isinstance(wrong.exception, InvalidInputError) and "does not apply to exports of claude" in str(
        wrong.exception
    )
    assert not (tmp_path / "s.db").exists()


def test_the_help_names_every_kind():
    told = " ".join(CliRunner().invoke(app, ["import", "--help"], env={"COLUMNS": "400"}).output.split())
    assert ", ".join(KINDS) in told
