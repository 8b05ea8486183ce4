"""Errors of a run: unusable replies, which the table of tasks counts, and everything else, which fails the run."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from nscma_torch.core.errors import ReplyError

_OF_REPLY = ReplyError.__name__


@dataclass(slots=True)
class Faults:
    """Errors that the product raised or reported, except unusable replies, and ids of messages that were lost."""

    errors: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @contextmanager
    def caught(self, what: str) -> Iterator[None]:
        """A block that continues after an error, which is printed and recorded."""
        try:
            yield
        except ReplyError as error:
            print(f"{what}: {error}")
        except Exception as error:  # noqa: BLE001 - the run goes on, and its exit status reports the error
            traceback.print_exc()
            self.errors.append(f"{what}: {type(error).__name__}: {error}")

    def reported(self, what: str, failures: tuple[str, ...]) -> None:
        """Take the failures that the memory reports, each of which begins with the name of an error."""
        for failure in failures:
            print(f"{what}: {failure}")
            if not failure.startswith(_OF_REPLY):
                self.errors.append(f"{what}: {failure}")

    def __str__(self) -> str:
        lines = [f"error: {one}" for one in self.errors] + [f"lost message: {one}" for one in self.lost]
        return "\n".join(lines) or "no error, no message lost"
