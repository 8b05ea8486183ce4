"""Map each command to its module, which is only imported when the command is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from typer import Typer
from typer.core import TyperGroup
from typer.main import get_command

MODULES = {
    "setup": "setup",
    "add": "adding",
    "bulk": "bulk",
    **dict.fromkeys(("update", "delete", "restore", "erase"), "messages"),
    **dict.fromkeys(("ask", "search", "get", "history"), "search"),
    "chat": "chat",
    **dict.fromkeys(("log", "stats"), "status"),
    **dict.fromkeys(("sessions", "window"), "sessions"),
    "records": "records",
    **dict.fromkeys(("facts", "due", "conflicts", "undo", "merge", "sleep", "profile", "skills"), "facts"),
    "derived": "derived",
    "tree": "tree",
    **dict.fromkeys(("backup", "export", "import", "copy", "reembed", "reextract", "replay", "retry", "demo"), "store"),
    **dict.fromkeys(("grant", "index"), "postgres"),
    "worker": "worker",
    "warm": "warm",
    "serve": "serve",
    "view": "view",
    "token": "token",
    **dict.fromkeys(("mcp", "hook"), "mcp"),
    "doctor": "doctor",
    "completion": "completion",
}


class Commands(TyperGroup):
    """The group of all commands, in the order of `MODULES`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Loaded()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all commands; the parent class's method would load every command."""
        return list(self.commands)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the `--help` option with the default False: without a default, Typer uses pydantic, which is slow to
        import.
        """
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class _Loaded(Mapping[str, Any]):
    """A mapping of commands by name; each is created when first accessed."""

    def __getitem__(self, name: str) -> Any:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


@cache
def _command(name: str) -> Any:
    """Load a command or command group from its module. Raises `KeyError` for an unknown name."""
    from nscma_torch.cli.options import CONTEXT, app

    import_module(f"nscma_torch.cli.{MODULES[name]}")
    for group in app.registered_groups:
        if group.name == name and group.typer_instance is not None:
            made = get_command(group.typer_instance)
            made.name = name
            return made
    alone = Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=CONTEXT)
    alone.registered_commands = [
        one for one in app.registered_commands if name == (one.name or getattr(one.callback, "__name__", ""))
    ]
    return get_command(alone)
