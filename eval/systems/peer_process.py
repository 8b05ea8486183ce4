"""A program behind a pipe, under an interpreter of its own, for its dependencies are not this project's.

A request is a line of JSON on its standard input, an answer one on its standard output; what else it says, an error
above all, goes to standard error. One process serves all samples of a rank, one store after the other.
"""

from __future__ import annotations

import json
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import ConfigError, StoreError

_WAIT = 10.0  # seconds for it to end by itself


class PeerProcess:
    """The process, started when it is first asked; it ends with this object or the program.

    Args:
        python: the interpreter.
        program: what it runs, with its arguments.
        package: what the interpreter must have.
        target: of the Makefile, which makes the interpreter's environment `.venv-TARGET`.
    """

    def __init__(self, python: str, program: Sequence[str | Path], package: str, target: str) -> None:
        self._python = python
        self._program = program
        self._package = package
        self._target = target
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request. Raises `StoreError` where the process ended over it; its own words are on standard error."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process = None
            raise StoreError(f"the process of {self._package} ended with code {process.wait()}; its words stand above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def check(self) -> str:
        """Start the process; the version of the package.

        Raises `ConfigError` where the interpreter cannot be run, or lacks the package.
        """
        try:
            return str(self.ask({"do": "version"})["version"])
        except StoreError as error:
            raise ConfigError(
                f"python = {self._python!r} does not run {self._package}: {error}; {self._how}"
            ) from error

    def close(self) -> None:
        """Close the store that is open, if the process lives."""
        if self._process is not None:
            self.ask({"do": "close"})

    @property
    def _how(self) -> str:
        return f"`make {self._target}` makes .venv-{self._target}, and --systems names those to run without it"

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            try:
                process = subprocess.Popen(
                    [self._python, *self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            except OSError as error:
                raise ConfigError(
                    f"python = {self._python!r} cannot be run ({error.strerror}): it needs {self._package}; {self._how}"
                ) from error
            weakref.finalize(self, _end, process)
            self._process = process
        return self._process


def _end(process: subprocess.Popen[str]) -> None:
    """Close the input, which ends it."""
    assert process.stdin is not None and process.stdout is not None
    with process.stdout:
        try:
            process.stdin.close()
        except BrokenPipeError:
            return
        finally:
            try:
                process.wait(_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
