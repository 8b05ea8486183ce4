"""Settings of clients: what is put into made files, what stays there, and what is refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nscma_torch.cli import app
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.server.mcp.clients import CLIENTS

Install = Callable[..., Result]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """`nscma mcp install …` with a home of its own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "home"))
    for name in ("CODEX_HOME", "NSCMA_STORE", "NSCMA_USER", "NSCMA_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["mcp", "install", *arguments])

    return run


def ok(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, (result.output, result.exception)
    told: list[dict[str, Any]] = json.loads(result.stdout)
    return told


def parsed(path: Path) -> dict[str, Any]:
    text = path.read_text()
    found: dict[str, Any] = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return found


def where(client: str) -> list[str]:
    return ["--project", "project"] if CLIENTS[client].home is None else []


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client(install: Install, tmp_path: Path, client: str) -> None:
    """Shown and written are the same; nothing is written without --write; a second time changes nothing."""
    (shown,) = ok(install(client, "--user", "ana", "--json", *where(client)))
    path = Path(shown["file"])
    assert not path.exists() and not shown["written"]
    (told,) = ok(install(client, "--user", "ana", "--json", "--write", *where(client)))
    assert (told["written"], told["backup"]) == (True, None)
    assert path.read_text() == told["content"] == shown["content"]
    assert path.stat().st_mode & 0o777 == 0o600
    entry: Any = parsed(path)
    for key in (*CLIENTS[client].keys, "nscma"):
        entry = entry[key]
    words = [entry["command"], *entry["args"]]
    assert words[words.index("mcp") :] == [
        "mcp", "--user", "ana", "--can", "read,write", "--store", str(tmp_path / "nscma.db"),
    ]  # fmt: skip
    assert Path(words[0]).is_absolute()
    (again,) = ok(install(client, "--user", "ana", "--json", "--write", *where(client)))
    assert not again["written"] and not list(path.parent.glob("*.bak*"))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_that_runs(install: Install, client: str) -> None:
    """A token is named, never written; who cannot take one from the environment says so."""
    options = ["--url", "http://127.0.0.1:9/", "--user", "ana b", "--json", *where(client)]
    if CLIENTS[client].running is None:
        assert isinstance(install(client, *options).exception, InvalidInputError)
        return
    (told,) = ok(install(client, *options))
    assert "http://127.0.0.1:9/mcp?user_id=ana+b" in told["content"] and "TOKEN" not in told["content"]
    got = install(client, *options, "--token")
    if CLIENTS[client].bearer is None:
        assert isinstance(got.exception, InvalidInputError) and "by hand" in str(got.exception)
        return
    assert ("NSCMA_TOKEN" in ok(got)[0]["content"]) or "${input:nscma-token}" in ok(got)[0]["content"]


OTHER = {"other": {"command": "x", "args": [], "env": {"A": "ü"}}}


@pytest.mark.parametrize("client", [name for name, one in CLIENTS.items() if one.form == "json"])
def test_what_a_file_holds_stays(install: Install, client: str) -> None:
    options = ["--json", "--write", *where(client)]
    path = Path(ok(install(client, "--json", *where(client)))[0]["file"])
    path.parent.mkdir(parents=True, exist_ok=True)
    (key,) = CLIENTS[client].keys
    before = {"first": [1, 2.5, None], key: OTHER, "last": {"deep": True}}
    path.write_text(json.dumps(before, indent=4))
    path.chmod(0o640)
    (told,) = ok(install(client, *options))
    after = parsed(path)
    assert list(after) == list(before) and set(after[key]) == {"other", "nscma"}
    del after[key]["nscma"]
    assert after == before
    assert "ü" in path.read_text() and path.stat().st_mode & 0o777 == 0o640
    assert json.loads(Path(told["backup"]).read_text()) == before
    (second,) = ok(install(client, "--user", "ben", *options))
    assert parsed(path)[key]["nscma"]["args"][2] == "ben" or "ben" in parsed(path)[key]["nscma"]["args"]
    assert second["backup"] != told["backup"] and len(list(path.parent.glob("*.bak*"))) == 2


def test_toml_keeps_its_comments(install: Install, tmp_path: Path) -> None:
    path = tmp_path / "home" / ".codex" / "config.toml"
    path.parent.mkdir()
    text = '# mine\nmodel = "x"  # best\n\n[mcp_servers.other]\ncommand = "y"\n\n[features]\nhooks = true\n'
    path.write_text(text)
    (told,) = ok(install("codex", "--user", "ana", "--write", "--json"))
    after = path.read_text()
    assert all(line in after for line in text.splitlines())
    assert set(tomllib.loads(after)["mcp_servers"]) == {"other", "nscma"}
    assert Path(told["backup"]).read_text() == text
    (again,) = ok(install("codex", "--user", "ana", "--write", "--json"))
    assert not again["written"] and path.read_text() == after


@pytest.mark.parametrize("client", [name for name, one in CLIENTS.items() if one.hooks])
def test_hooks_beside_those_of_others(install: Install, client: str) -> None:
    path = Path(ok(install(client, "--hooks", "--json"))[1]["file"])
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = {"type": "command", "command": "echo nscma hooks"}
    path.write_text(
        json.dumps(
            {
                "model": "x",
                "hooks": {
                    "Stop": [{"hooks": [mine, {"type": "command", "command": "/old/nscma hook retain --url x"}]}],
                    "PreToolUse": [{"matcher": "Bash", "hooks": [mine]}],
                },
            }
        )
    )
    for user in ("ana", "ben", "ben"):
        told = ok(install(client, "--hooks", "--write", "--user", user, "--url", "http://127.0.0.1:9", "--json"))
    assert not told[1]["written"]
    after = parsed(path)
    assert after["model"] == "x" and after["hooks"]["PreToolUse"] == [{"matcher": "Bash", "hooks": [mine]}]
    others, own = after["hooks"]["Stop"]
    assert others == {"hooks": [mine]}
    (stop,) = own["hooks"]
    assert stop["command"].endswith("hook retain --url http://127.0.0.1:9 --user ben") and stop["timeout"] == 10
    ((recall, retain),) = (group["hooks"] for group in after["hooks"]["UserPromptSubmit"])
    assert " hook recall " in recall["command"] and " hook retain " in retain["command"]


def test_vscode_asks_for_the_token_once(install: Install, tmp_path: Path) -> None:
    for _ in range(2):
        ok(install("vscode", "--project", "project", "--url", "http://127.0.0.1:9", "--token", "--write", "--json"))
    (asked,) = parsed(tmp_path / "project" / ".vscode" / "mcp.json")["inputs"]
    assert asked["id"] == "nscma-token" and asked["password"] is True


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b'{"a": 1, // mine\n}', "does not parse as JSON"),
        (b'{"a": 1, "a": 2}', "a key is duplicated"),
        (b"[]", "not a JSON object"),
        (b'{"mcpServers": []}', "mcpServers is not a table"),
        (b'{"a": "\xff"}', "is not UTF-8"),
    ],
)
def test_what_would_be_lost_is_refused(install: Install, tmp_path: Path, text: bytes, wrong: str) -> None:
    path = tmp_path / "home" / ".claude.json"
    path.write_bytes(text)
    got = install("claude-code", "--hooks", "--write")
    assert isinstance(got.exception, ConfigError) and wrong in str(got.exception)
    assert path.read_bytes() == text
    assert sorted(one.name for one in path.parent.iterdir()) == [".claude.json"]  # no part, no backup, no hooks


def test_a_link_stays_a_link(install: Install, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    link = tmp_path / "home" / ".claude.json"
    link.symlink_to(real)
    ok(install("claude-code", "--write", "--json"))
    assert link.is_symlink() and "nscma" in real.read_text()


def test_a_file_that_another_program_changes_is_left(tmp_path: Path) -> None:
    from nscma_torch.server.mcp.settings_files import SetKey, SettingsEdit

    path = tmp_path / "settings.json"
    path.write_text("{}")
    plan = SettingsEdit(path, "json", [SetKey(("a",), 1)]).planned()
    assert plan is not None
    path.write_text('{"b": 2}')
    with pytest.raises(ConfigError, match="another program"):
        plan.write()
    assert path.read_text() == '{"b": 2}' and [*tmp_path.iterdir()] == [path]


def test_wrong_use(install: Install) -> None:
    for arguments, wrong in (
        (["emacs"], "unknown client 'emacs'; clients are claude-code"),
        (["vscode"], "name a project with --project"),
        (["windsurf", "--project", "project"], "omit --project"),
        (["cursor", "--hooks"], "omit --hooks"),
    ):
        assert wrong in str(install(*arguments).exception)
    assert install("codex", "--can", "dance").exit_code == 2
    shown = install("codex", "--user", "ana")
    assert "config.toml needs" in shown.stdout and "[mcp_servers.nscma]" in shown.stdout
    assert "updated" in install("codex", "--write").stdout
    assert "already has the settings" in install("codex", "--write").stdout
