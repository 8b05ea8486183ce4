"""The warm process: loads the models of a configuration, then forks for each command that connects.

    python -m nscma_torch.cli.warm_process.process [--config FILE] --minutes N

It reports on stdout, in one line of JSON, that it is ready or why it can't be, and detaches from its standard streams.
A fork runs a command as a new process would: with the command's own standard streams, folder, environment and umask,
and it opens and closes the store itself. So this process never holds a store open. It has one thread when it forks,
since locks held by other threads would stay locked in the fork.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from nscma_torch.cli import run_app
from nscma_torch.cli.warm_process.address import address, make_private
from nscma_torch.cli.warm_process.loaded import LoadedModels, keep
from nscma_torch.cli.warm_process.wire import Command, receive_command, send_number
from nscma_torch.core.config import Config, load_config, override
from nscma_torch.core.config_identity import config_identity
from nscma_torch.core.errors import ConfigError, NscmaError, StoreAccessError

_USED_BY_ALL = ("typer.main", "rich.console", "rich.progress", "http.client")
_WAITING = 64  # connections


def load_models(config: Config, path: Path | None) -> LoadedModels:
    """Load the models, and everything else that is loaded when first used, by using a memory of two messages.

    Raises `ConfigError` if the models are on a GPU, which a fork can't use.
    """
    from nscma_torch.api.memory import Memory
    from nscma_torch.core.device import torch_device

    if torch_device(config.device).type != "cpu":
        raise ConfigError('a GPU can\'t be used by forked processes; run `nscma serve`, or set device = "cpu"')
    served = config.surprise.engine == "llm"
    alone = {"llm": {"engine": "embedded"}, "surprise": {"engine": "own"}, "telemetry": {"enabled": False}}
    here = override(config, alone)
    own_model = None
    if served:  # it isn't loaded here, so what is weighed below is weighed by the bundled one
        here = override(here, {"surprise": {"model": "bundled"}})
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "warm.db", config=here) as memory:
        said = datetime(2026, 1, 1, 12, tzinfo=UTC)
        memory.add("I moved to Porto in March, and I work at Lumora.", user_id="warm", timestamp=said, now=said)
        memory.add("I work at Bosch now.", user_id="warm", timestamp=said, now=said)
        memory.flush()
        for question in ("Where do I work?", "What did I say about Porto?"):
            memory.ask(question, user_id="warm", now=said)
        if not served:
            own_model = memory.components.surprise_model
        return LoadedModels(config_identity(path), memory.components.new_embedder, own_model)


def serve(listening: socket.socket, lock: int, seconds: float) -> None:
    """Fork for each command, until none has come for so many seconds. A fork keeps neither the socket nor the lock."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets forks that have ended
    gc.freeze()  # a collection in a fork would copy the pages of all that is loaded
    listening.settimeout(seconds)
    while True:
        try:
            line, _ = listening.accept()
        except TimeoutError:
            return
        with line:
            if os.fork() == 0:
                listening.close()
                os.close(lock)
                line.settimeout(None)
                _run(line)


def _run(line: socket.socket) -> NoReturn:
    """Run one command in this fork, and end it. Nothing of the parent's own cleanup may run here."""
    status = 1
    try:
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the parent was started with
        command, streams = receive_command(line)
        if not command.arguments:
            os.kill(os.getppid(), signal.SIGTERM)
            status = 0
        else:
            _become(command, streams)
            send_number(line, os.getpid())
            status = _status()
            if (providers := sys.modules.get("nscma_torch.telemetry.providers")) is not None:
                providers.shutdown()  # this process ends without the SDK's own cleanup
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            send_number(line, status)
    except (OSError, EOFError):  # the command's process ended
        status = 1
    finally:
        os._exit(status)


def _become(command: Command, streams: Sequence[int]) -> None:
    """Take over a command's standard streams, folder, environment and umask."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update(command.environment)
    os.umask(command.umask)
    sys.argv = ["nscma", *command.arguments]


def _stream(number: int, mode: str) -> Any:
    errors = "backslashreplace" if number == 2 else "surrogateescape" if sys.flags.utf8_mode else "strict"
    buffering = 1 if number == 2 or os.isatty(number) else -1
    return open(number, mode, buffering, errors=errors, closefd=False)


def _status() -> int:
    """Run the command; return its exit status as the interpreter would."""
    try:
        run_app()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001 - reported as the interpreter would
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def listening_at(path: Path) -> Iterator[tuple[socket.socket, int]]:
    """Yield a socket for this path and the lock on it, and remove the path at the end.

    Raises `StoreAccessError` if another process has the lock.
    """
    make_private(path.parent)
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreAccessError("a warm process for this configuration is already running or loading") from None
    try:
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            yield listening, lock
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def main() -> None:
    """Load, report, serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--minutes", type=float, required=True)
    given = parser.parse_args()
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        path = address(given.config)
        with listening_at(path) as (listening, lock):
            for module in _USED_BY_ALL:
                importlib.import_module(module)
            keep(load_models(load_config(given.config), given.config))
            if threading.active_count() != 1:
                raise ConfigError("a model of this configuration started threads, which a fork does not have")
            listening.bind(str(path))
            listening.listen(_WAITING)
            _report(pid=os.getpid())
            serve(listening, lock, 60 * given.minutes)
    except (NscmaError, OSError) as error:
        _report(error=str(error))
        sys.exit(1)


def _report(**fields: object) -> None:
    """Write the line that the starting command waits for, and detach from it."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


if __name__ == "__main__":
    main()
