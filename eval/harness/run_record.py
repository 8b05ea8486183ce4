"""`run.json`: which configuration made the results in a folder, with what, where and when."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from eval.harness.machine import cpu_name, unfinished
from eval.harness.raw_lines import holds_any
from eval.harness.run_config import RunConfig
from nscma_torch.core.errors import ConfigError, StoreBusyError

RECORD = "run.json"
_PACKAGES = ("torch", "transformers", "nscma_torch")
_ATTEMPT = ("command", "commit", "versions", "machine", "started", "ended", "ranks", "subset")


class RunRecord:
    """The record of a folder, kept by rank 0.

    Started again, the last attempt is in the record's main keys and those before it are under `earlier`. Under
    `planned` stand the systems of each task, and how many samples it has, whatever part of them was asked for. `subset`
    says why less was done than was asked for, and how many samples of each task were; it is null where all was done.

    Args:
        samples: of each task that was made; the others keep the number of an earlier attempt, if one knew it.

    Raises ConfigError where the folder holds results of another configuration.
    """

    def __init__(self, folder: Path, config: RunConfig, command: str, ranks: int, samples: Mapping[str, int]) -> None:
        self._path = folder / RECORD
        before = check_config(folder, config)
        earlier = [] if before is None else [*before["earlier"], {key: before.get(key) for key in _ATTEMPT}]
        known = {name: task["samples"] for name, task in (before or {}).get("planned", {}).items()}
        planned = {
            name: {"samples": samples.get(name, known.get(name)), "systems": config.systems_of(name)}
            for name in config.tasks
        }
        self._record = {
            "config": config.given,
            "sha256": config.sha256,
            **provenance(command, ranks),
            "planned": planned,
            "earlier": earlier,
        }
        self._write()

    @property
    def commit(self) -> str:
        """Of this attempt."""
        commit: str = self._record["commit"]
        return commit

    @property
    def attempt(self) -> int:
        """Which one this is, from 1."""
        return len(self._record["earlier"]) + 1

    @property
    def mixed(self) -> bool:
        """Whether an attempt before was at another commit."""
        return any(attempt["commit"] != self.commit for attempt in self._record["earlier"])

    @property
    def same(self) -> list[int]:
        """The attempts before this one that were made by the same command."""
        command = self._record["command"]
        return [number for number, own in enumerate(self._record["earlier"], start=1) if own["command"] == command]

    def end(self, subset: Mapping[str, Any] | None = None) -> None:
        """Note that everything was done that was asked for, or which part of it and why."""
        self._record |= {"ended": _now(), "subset": subset}
        self._write()

    def _write(self) -> None:
        part = unfinished(self._path)
        part.write_text(json.dumps(self._record, indent=1, ensure_ascii=False, default=str), encoding="utf-8")
        part.replace(self._path)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """A block in which no other run works in a folder; StoreBusyError where one does."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreBusyError(f"another run is at work in {folder}; wait for it, or take another --out") from error
        yield


def check_config(folder: Path, config: RunConfig) -> Mapping[str, Any] | None:
    """The record of a folder, None where there is none; ConfigError where it has results of another configuration."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path} is damaged: {error}; take another --out") from error
    if record["sha256"] != config.sha256:
        if not holds_any(folder):  # that configuration was at fault, and is mended
            return None
        raise ConfigError(
            f"{folder} holds results of another configuration (SHA-256 {record['sha256'][:12]}, this one is "
            f"{config.sha256[:12]}): take another --out, or the configuration in {path}"
        )
    return record


def provenance(command: str, ranks: int) -> dict[str, Any]:
    """What is run by a command that begins now: the commit, the versions and the machine."""
    return {
        "command": command,
        "commit": _commit(),
        "versions": {name: version(name) for name in _PACKAGES},
        "machine": _machine(),
        "started": _now(),
        "ended": None,
        "ranks": ranks,
        "subset": None,
    }


def _commit() -> str:
    """Of the checkout, with a plus where it was changed since; "unknown" outside of one."""
    root = Path(__file__).parent
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _machine() -> str:
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return (
        f"{platform.system()} {platform.machine()}, {cpu_name()}, {os.cpu_count()} CPUs, {', '.join(gpus) or 'no GPU'}"
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
