"""docs/json_output.toml says what `--json` prints: compared with what is printed, each way."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.cli.commands import MODULES
from nscma_torch.controller.trace import Taken
from nscma_torch.core.records import Decision, Evidence, WorkerHealth
from nscma_torch.curator.store.derived_texts import DerivedText
from tests.helpers.json_page import Shapes, prints

CONFIG = (
    '[embedder]\nmodel = "hash"\n[gate]\nrule = "everything"\n[records]\nenabled = true\n[reading]\nmodel = "none"\n'
)
SAID = (
    "My sister Ines moved to Porto in March.",
    "Where is Ines?",
    "My favourite colour is red.",
    "My favourite colour is blue.",
    "haha ok",
)
WITHOUT = {"mcp", "hook", "completion"}  # speak to other programs
ELSEWHERE = {
    "demo",
    "worker",
    "serve",
    "view",
    "merge",
    "grant",
    "index",
    "setup",
}  # long, endless, as undo, or for a server
NOT_PRINTED = {
    "derived": DerivedText, "worker": WorkerHealth, "quoted": Evidence, "step": Taken, "gate decision": Decision,
}  # fmt: skip


def test_every_command_is_on_the_page() -> None:
    listed = set(MODULES) - {"token", "mcp", "bulk"}
    listed |= {"token add", "token list", "token revoke", "mcp install", "bulk add"}
    shapes = Shapes()
    printed = prints()
    assert {re.sub(" --.*", "", command) for command in printed} == listed - WITHOUT
    for kind in (*printed.values(), *(kind for keys in shapes.objects.values() for kind in keys.values())):
        name = kind.strip("[]{}?")
        assert name in shapes.objects or name in {"string", "integer", "number", "boolean", "time", "day", "any"}, name


def test_what_commands_print_is_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("NSCMA_STORE", "NSCMA_USER", "NSCMA_TOKEN", "NSCMA_TOKENS"):
        monkeypatch.delenv(name, raising=False)
    Path("light.toml").write_text(CONFIG)
    Path("gate.toml").write_text('[gate]\nrule = "composition"\n')
    Path("theirs.json").write_text(json.dumps({"results": [{"id": "1", "memory": "I have a cat.", "user_id": "u"}]}))
    monkeypatch.setenv("NSCMA_CONFIG", "light.toml")
    shapes, page = Shapes(), prints()
    compared: set[str] = set()

    def printed(command: str, *arguments: str, input: str | None = None) -> object:
        words = command.split()
        result = CliRunner().invoke(app, [*words, *arguments, "--json"], input=input)
        assert result.exit_code == 0, (command, result.output, result.exception)
        value = json.loads(result.stdout)
        shapes.compare(value, page[command], command)
        compared.add(command)
        return value

    printed("add", "--text", *SAID, "--name", "Ana", "--timestamp", "2026-03-05")
    log = printed("log")
    assert isinstance(log, list) and len(log) == len(SAID)
    one = log[0]["id"]
    printed("get", one)
    printed("history", one)
    printed("search", "Porto", "--explain")
    printed("ask", "Where did Ines move to?")
    for command in ("sessions", "window", "records", "tree", "stats", "facts", "sleep", "derived"):
        printed(command)
    assert printed("profile"), "a line, with its day"
    printed("add", "--text", f"The form is due on {date.today() + timedelta(days=2)}.")
    assert printed("due"), "something, with its day"
    decisions = printed("conflicts")
    assert isinstance(decisions, dict)
    printed("undo", decisions["decisions"][0]["id"])
    printed("skills", "--add", "Bread", "--trigger", "bread is wanted", "--step", "knead")
    printed("update", one, "My sister Ines moved to Rome in March.")
    printed("delete", one)
    printed("restore", one)
    printed("chat", input="Where is Ines?\n")
    printed("backup", "kept.db")
    printed("export", "all.jsonl")
    printed("import", "all.jsonl", "--store", "copy.db")
    printed("copy", "copy.db", "another.db")
    printed("import --from", "mem0", "theirs.json", "--store", "other.db")
    printed("reembed")
    printed("reextract")
    printed("replay", "--gate", "gate.toml")
    printed("retry")
    Path("rows.jsonl").write_text(json.dumps({"user_id": "ben", "role": "user", "content": "I live in Bern."}))
    printed("bulk add", "rows.jsonl", "--store", "bulk.db")
    printed("token add", "--user", "ana")
    tokens = printed("token list")
    assert isinstance(tokens, list)
    printed("token revoke", tokens[0]["id"])
    printed("mcp install", "cursor")
    printed("warm", "--stop")
    printed("doctor")
    printed("doctor --plan", "--messages", "100", "--card", "12")
    printed("erase", one, "--yes")
    assert set(page) - compared == ELSEWHERE
    events = {"demo", "worker event", "server event", "granted", "vector index"}
    events |= {"server setup", "model server", "served model"}  # compared in test_setup
    assert set(shapes.objects) - shapes.seen - events <= set(NOT_PRINTED), set(shapes.objects) - shapes.seen
    for name, record in NOT_PRINTED.items():
        assert {field.name for field in dataclasses.fields(record)} == set(shapes.objects[name])
