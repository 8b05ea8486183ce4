"""The tokens file: hashed, its owner's alone, read again when it changed; and who is let in by it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.core.errors import (
    ConfigError,
    ForbiddenError,
    InvalidInputError,
    MissingDependencyError,
    ScopeError,
    StoreAccessError,
    TokenError,
)
from nscma_torch.server.access import Authenticator, Principal, is_loopback
from nscma_torch.server.app_context import ServerSettings
from nscma_torch.server.running import bound, refuse_open_doors
from nscma_torch.server.tokens import TokenFile
from tests.server.conftest import Served


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens")


def test_the_file_holds_no_token(tokens: TokenFile) -> None:
    before = os.umask(0)
    try:
        token, entry = tokens.add("ana", ["write", "read"])
    finally:
        os.umask(before)
    text = tokens.path.read_text()
    assert token not in text and token.removeprefix("nscma_") not in text and entry.sha256 in text
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    assert (entry.user, entry.can) == ("ana", ("read", "write"))
    assert tokens.find(token) == entry and TokenFile(tokens.path).find(token) == entry
    assert tokens.find(token[:-1]) is None and tokens.find("") is None and tokens.find("\udcff") is None
    assert list(tokens.path.parent.iterdir()) == [tokens.path]  # no part is left beside it


def test_every_token_differs(tokens: TokenFile) -> None:
    made = [tokens.add(user, ["read"]) for user in ("ana", "ana", None)]
    assert len({token for token, _ in made}) == len({entry.id for _, entry in made}) == 3
    assert [tokens.find(token) for token, _ in made] == [entry for _, entry in made] == list(tokens.all())


@pytest.mark.parametrize(("user", "can"), [("ana", []), ("ana", ["admin"]), ("ana", ["read", "x"]), ("  ", ["read"])])
def test_what_is_no_token(tokens: TokenFile, user: str, can: list[str]) -> None:
    with pytest.raises((InvalidInputError, ScopeError)):
        tokens.add(user, can)
    assert not tokens.path.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [{}]}'])
def test_a_file_that_is_none_lets_nobody_in(tokens: TokenFile, text: str) -> None:
    token, _ = tokens.add("ana", ["read"])
    tokens.path.write_text(text)
    for _ in range(2):
        with pytest.raises(ConfigError, match="nscma token add"):
            tokens.find(token)


def test_a_file_that_others_may_read_lets_nobody_in(tokens: TokenFile) -> None:
    token, _ = tokens.add("ana", ["read"])
    tokens.path.write_text(tokens.path.read_text() + "\n")
    tokens.path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        tokens.find(token)


def test_one_change_at_a_time(tokens: TokenFile) -> None:
    tokens.add("ana", ["read"])
    part = tokens.path.with_name("tokens.part")
    part.touch()
    with pytest.raises(StoreAccessError, match=r"tokens\.part"):
        tokens.add("ben", ["read"])
    assert len(TokenFile(tokens.path).all()) == 1 and part.exists()


def test_a_running_server_follows_the_file(served: Callable[..., Served]) -> None:
    server = served()
    get = server.client.get
    assert get("/v1/stats").status_code == 200  # nobody has made a token, and this machine asks
    token, entry = server.tokens.add("ana", ["read"])
    headers = {"Authorization": f"Bearer {token}"}
    assert get("/v1/stats").status_code == 401
    assert get("/v1/stats", headers=headers).status_code == 200
    assert get("/v1/stats", headers={"Authorization": f"token {token}"}).status_code == 200
    assert get("/v1/stats", headers={"X-API-Key": token}).status_code == 200
    TokenFile(server.tokens.path).revoke(entry.id)
    assert get("/v1/stats", headers=headers).status_code == 401
    other = server.token("ana")
    assert get("/v1/stats", headers=other).status_code == 200
    server.tokens.path.unlink()
    assert get("/v1/stats", headers=other).status_code == get("/v1/stats").status_code == 401


def test_a_broken_file_is_told(served: Callable[..., Served]) -> None:
    server = served()
    headers = server.token("ana")
    server.tokens.path.write_text("nonsense")
    got = server.client.get("/v1/stats", headers=headers)
    assert got.status_code == 500 and "not a tokens file" in got.json()["detail"]
    assert server.client.get("/health/live").status_code == 200


def test_without_tokens_only_this_machine_is_served(tokens: TokenFile) -> None:
    access = Authenticator(tokens, default="ana")
    for peer in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"):
        assert access.principal({}, peer).user() == "ana"
    for peer in ("10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "testclient", "", None):
        with pytest.raises(ForbiddenError):
            access.principal({}, peer)
    for name in ("x-forwarded-for", "forwarded", "x-real-ip"):  # a proxy in front is no neighbour
        with pytest.raises(ForbiddenError):
            access.principal({name: "127.0.0.1"}, "127.0.0.1")
    tokens.add("ana", ["read"])
    with pytest.raises(TokenError):
        access.principal({}, "127.0.0.1")
    assert is_loopback("::1") and not is_loopback("localhost.evil.example")


def test_whom_a_request_is_about() -> None:
    ana = Principal("ana", frozenset({"read"}), "1")
    assert ana.user() == ana.user(None, "ana") == "ana"
    for other in ("ben", "", "ana ", "Ana", "ana\0"):
        with pytest.raises(ForbiddenError):
            ana.user(other)
    with pytest.raises(ForbiddenError):
        ana.any_user()
    anyone = Principal(None, frozenset({"read"}), "2")
    assert anyone.user("ben") == "ben"
    anyone.any_user()
    for named in ((), ("ana", "ben"), ("",), ("a\n",)):
        with pytest.raises(ScopeError):
            anyone.user(*named)
    with pytest.raises(ForbiddenError, match="write"):
        anyone.need("read", "write")


def test_other_machines_are_served_with_tokens_alone(tokens: TokenFile) -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        refuse_open_doors(ServerSettings(tokens.path, host=host))
    for host in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        with pytest.raises(ConfigError, match="nscma token add"):
            refuse_open_doors(ServerSettings(tokens.path, host=host))
    tokens.add("ana", ["read"])
    refuse_open_doors(ServerSettings(tokens.path, host="0.0.0.0"))
    with bound(ServerSettings(tokens.path, port=0)) as first, pytest.raises(StoreAccessError, match="--port"):
        bound(ServerSettings(tokens.path, port=first.getsockname()[1]))


def test_commands(tmp_path: Path) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["token", *arguments, "--tokens", str(tmp_path / "tokens")])
        assert done.exit_code == code, done.output
        return done.stdout

    token = run("add", "--user", "ana", "--can", "read, erase").strip()
    made = json.loads(run("add", "--any-user", "--json"))
    assert made["user"] is None and made["can"] == ["read", "write"]
    listed = json.loads(run("list", "--json"))
    assert [(one["user"], one["can"]) for one in listed] == [("ana", ["read", "erase"]), (None, ["read", "write"])]
    assert "ana" in run("list") and token not in run("list") and listed[0]["id"] in run("list")
    run("revoke", listed[0]["id"])
    file = TokenFile(tmp_path / "tokens")
    assert file.find(token) is None and file.find(made["token"]) is not None
    run("add", code=2)
    run("add", "--user", "ana", "--any-user", code=2)
    assert isinstance(
        CliRunner().invoke(app, ["token", "revoke", "x", "--tokens", str(file.path)]).exception, LookupError
    )


def test_the_command_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(app, ["serve", "--store", str(tmp_path / "s.db")])
    assert isinstance(done.exception, MissingDependencyError) and "nscma-torch[server]" in str(done.exception)
    assert not list(tmp_path.iterdir())
