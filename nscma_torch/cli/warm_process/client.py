"""Run a command in the warm process of its configuration, if there is one. This module imports nothing heavy.

The command runs in a fork of that process, with this process's standard streams, folder, environment and umask, so it
does and prints the same; only the imports and the models are there already.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nscma_torch.cli.warm_process.address import address, private
from nscma_torch.cli.warm_process.wire import Command, receive_number, send_command

# Commands that end by themselves, and use the store or the models.
COMMANDS = frozenset(
    (
        *("add", "update", "delete", "restore", "erase", "ask", "search", "get", "history", "log", "stats", "sessions"),
        *("window", "records", "facts", "due", "conflicts", "undo", "merge", "sleep", "profile", "skills", "derived"),
        *("tree", "export", "import", "replay", "retry", "hook"),
    )
)
SUPPORTED = all(hasattr(module, name) for module, name in ((os, "fork"), (socket, "AF_UNIX"), (socket, "send_fds")))
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP")
_LOST = 1  # exit status if the process that ran the command was killed


def run_warm(arguments: Sequence[str]) -> int | None:
    """Run a command in the warm process and return its exit status; None if it must run in this process."""
    if not SUPPORTED or not arguments or arguments[0] not in COMMANDS:
        return None
    line = connected(_config(arguments))
    if line is None:
        return None
    with line:
        try:
            send_command(line, _command(arguments), (0, 1, 2))
            runs = receive_number(line)
        except (OSError, EOFError):  # it ended, or a standard stream is closed; nothing has run yet
            return None
        with _forwarding(runs):
            try:
                return receive_number(line)
            except (OSError, EOFError):
                os.write(2, b"error: the process that ran this command was killed; see `nscma log` for what it did\n")
                return _LOST


def stop(config: Path | None) -> bool:
    """End the warm process of a configuration; return False if there is none. Commands that it runs are finished."""
    line = connected(config)
    if line is None:
        return False
    with line:
        send_command(line, Command((), "/", {}, 0), (0, 1, 2))
        while line.recv(1):
            continue
    return True


def connected(config: Path | None) -> socket.socket | None:
    """Return a connection to the warm process of a configuration; None if there is none."""
    try:
        path = address(config)
        if not private(path.parent):
            return None
        line = socket.socket(socket.AF_UNIX)
    except OSError:  # an unreadable configuration: running the command reports it
        return None
    try:
        line.connect(str(path))
    except OSError:
        line.close()
        return None
    return line


def _config(arguments: Sequence[str]) -> Path | None:
    """Return the configuration that a command names; the command itself parses it again."""
    given = os.environ.get("NSCMA_CONFIG")
    for number, one in enumerate(arguments):
        if one.startswith("--config="):
            given = one.partition("=")[2]
        elif one == "--config" and number + 1 < len(arguments):
            given = arguments[number + 1]
    return Path(given) if given else None


def _command(arguments: Sequence[str]) -> Command:
    umask = os.umask(0o077)
    os.umask(umask)
    return Command(arguments, os.getcwd(), dict(os.environ), umask)  # noqa: PTH109 - pathlib would give the same


@contextmanager
def _forwarding(process: int) -> Iterator[None]:
    """Send the signals that would end this process to the one that runs the command. Ignored ones stay ignored."""

    def forward(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, number)

    known = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    known = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, forward) for number in known}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
