"""Settings files and keys that MCP clients use to register servers and hooks.

The formats come from public documents, listed in docs/mcp.md. They were not tested in the clients themselves.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.server.mcp.settings_files import Change, Hook, Include, SetKey, SettingsEdit

NAME = "nscma"
TOKEN = "NSCMA_TOKEN"  # the environment variable; a token itself is written nowhere
_HOOK_SECONDS = 10
_START_SECONDS = 30
_OWN = re.compile(r"nscma[^ ]* hook (recall|retain)")


@dataclass(frozen=True, slots=True)
class CommandServer:
    """A server that the client starts itself and talks to over stdio."""

    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A running server, with its `token` if it requires one."""

    url: str
    token: bool


@dataclass(frozen=True, slots=True)
class Client:
    """An MCP client program.

    Args:
        home: the user's settings file; None if the client has only project settings.
        project: the project's settings file; None if there is none.
        keys: the path of keys that leads to the servers in the settings file.
        started, running: functions that return the entry for a server that the client starts, or for one that is
            already running; None if unsupported.
        more: further changes for a running server.
        hooks: the settings files for hooks, one for the user and one for a project.
        bearer: the syntax for an environment variable in a header; None if undocumented.
    """

    title: str
    home: Callable[[], Path] | None
    project: str | None
    keys: tuple[str, ...]
    started: Callable[[CommandServer], dict[str, Any]]
    running: Callable[[str, dict[str, str]], dict[str, Any]] | None
    bearer: str | None = None
    form: str = "json"
    more: Sequence[Change] = ()
    hooks: tuple[Callable[[], Path], str] | None = None
    note: str = ""

    def server(self, how: CommandServer | HttpServer, project: Path | None) -> SettingsEdit:
        """Return the edit that registers the server.

        Raises `InvalidInputError` if the client doesn't support an option.
        """
        path = self._file(self.home, self.project, project)
        if isinstance(how, CommandServer):
            return SettingsEdit(path, self.form, [SetKey((*self.keys, NAME), self.started(how))])
        if self.running is None:
            raise InvalidInputError(f"{self.title} starts its servers itself: omit --url")
        if how.token and self.bearer is None:
            raise InvalidInputError(
                f"{self.title} documents no way to read a token from the environment; omit --token, and add the "
                "header 'Authorization: Bearer …' by hand"
            )
        headers = {"Authorization": f"Bearer {self.bearer}"} if how.token else {}
        more = self.more if how.token else ()
        return SettingsEdit(path, self.form, [SetKey((*self.keys, NAME), self.running(how.url, headers)), *more])

    def hooking(self, command: Callable[[str], Sequence[str]], project: Path | None) -> SettingsEdit:
        """Return the edit that installs hooks: one recalls memories at each prompt, others store the prompt and, at a
        stop, the answer.

        `command` builds each command line.
        """
        if self.hooks is None:
            raise InvalidInputError(f"{self.title} has no documented hooks; omit --hooks")
        path = self._file(self.hooks[0], self.hooks[1], project)
        events = {"UserPromptSubmit": ("recall", "retain"), "Stop": ("retain",)}
        changes = [Hook(event, [_hook(command(one)) for one in what], _OWN) for event, what in events.items()]
        return SettingsEdit(path, "json", changes)

    def _file(self, home: Callable[[], Path] | None, within: str | None, project: Path | None) -> Path:
        if project is not None:
            if within is None:
                raise InvalidInputError(f"{self.title} has no project settings file; omit --project")
            return project / within
        if home is None:
            raise InvalidInputError(f"{self.title} has settings per project: name a project with --project")
        return home()


def program() -> list[str]:
    """Return a command that starts this program from anywhere. It doesn't rely on PATH, which differs between a client
    and the shell.
    """
    beside = Path(sys.executable).with_name("nscma.exe" if os.name == "nt" else "nscma")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "nscma_torch"]


def _hook(words: Sequence[str]) -> dict[str, Any]:
    join = subprocess.list2cmdline if os.name == "nt" else shlex.join
    return {"type": "command", "command": join(words), "timeout": _HOOK_SECONDS}


def _plain(how: CommandServer) -> dict[str, Any]:
    return {"command": how.command[0], "args": list(how.command[1:])}


def _typed(how: CommandServer) -> dict[str, Any]:
    return {"type": "stdio", **_plain(how)}


def _headed(headers: dict[str, str]) -> dict[str, Any]:
    return {"headers": headers} if headers else {}


def _http(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"type": "http", "url": url, **_headed(headers)}


def _at(key: str) -> Callable[[str, dict[str, str]], dict[str, Any]]:
    return lambda url, headers: {key: url, **_headed(headers)}


def _codex(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"url": url, **({"bearer_token_env_var": TOKEN} if headers else {})}


def _codex_home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def _desktop() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if os.name == "nt":
        return Path(os.environ.get("APPDATA") or Path.home()) / "Claude" / "claude_desktop_config.json"
    return Path.home() / ".config" / "Claude" / "claude_desktop_config.json"


_INPUT = Include(
    ("inputs",),
    {"type": "promptString", "id": "nscma-token", "description": "Token of the NSCMA server", "password": True},
    "id",
)

CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        "Claude Code", lambda: Path.home() / ".claude.json", ".mcp.json", ("mcpServers",), _typed, _http,
        bearer="${NSCMA_TOKEN}",
        hooks=(lambda: Path.home() / ".claude" / "settings.json", ".claude/settings.json"),
        note="Claude Code writes ~/.claude.json too: end it before --write.",
    ),
    "claude-desktop": Client("Claude Desktop", _desktop, None, ("mcpServers",), _plain, None, note="Restart it."),
    "codex": Client(
        "Codex", lambda: _codex_home() / "config.toml", ".codex/config.toml", ("mcp_servers",),
        lambda how: {**_plain(how), "startup_timeout_sec": _START_SECONDS}, _codex, bearer=TOKEN, form="toml",
        hooks=(lambda: _codex_home() / "hooks.json", ".codex/hooks.json"),
        note="Codex runs hooks unless [features] hooks = false is in its config.toml.",
    ),
    "cursor": Client(
        "Cursor", lambda: Path.home() / ".cursor" / "mcp.json", ".cursor/mcp.json", ("mcpServers",), _plain,
        _at("url"), bearer="${env:NSCMA_TOKEN}",
    ),
    "vscode": Client(
        "VS Code", None, ".vscode/mcp.json", ("servers",), _typed, _http, bearer="${input:nscma-token}",
        more=(_INPUT,), note="VS Code asks for the token once, and keeps it.",
    ),
    "windsurf": Client(
        "Windsurf", lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json", None, ("mcpServers",), _plain,
        _at("serverUrl"), bearer="${env:NSCMA_TOKEN}",
    ),
    "gemini-cli": Client(
        "Gemini CLI", lambda: Path.home() / ".gemini" / "settings.json", ".gemini/settings.json", ("mcpServers",),
        _plain, _at("httpUrl"), bearer="${NSCMA_TOKEN}",
    ),
    "lm-studio": Client(
        "LM Studio", lambda: Path.home() / ".lmstudio" / "mcp.json", None, ("mcpServers",), _plain, _at("url"),
    ),
}  # fmt: skip
