"""Validate the importance ratings that the language tasks return."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import MOST_IMPORTANT, ImportanceTasks, required
from nscma_torch.core.records import Unit


def configured_rate(importance: str, tasks: object) -> Callable[[Sequence[Unit]], list[int]] | None:
    """Return the function that rates messages if `score.importance` is "model"; None if the gate's cues decide.

    Raises `ConfigError` if the language tasks can't rate messages.
    """
    if importance == "cues":
        return None
    own: ImportanceTasks = required(tasks, ImportanceTasks, f'score.importance = "{importance}"')
    return own.rate


def importances(rate: Callable[[Sequence[Unit]], list[int]], texts: Sequence[Unit]) -> list[float]:
    """Return the importance of each text, in [0, 1]. Raises `JobError` for invalid ratings."""
    found = rate(texts)
    if len(found) != len(texts) or any(not isinstance(r, int) or not 1 <= r <= MOST_IMPORTANT for r in found):
        raise JobError(
            f"rate was given {len(texts)} texts and must return one whole number for each, from 1 to "
            f"{MOST_IMPORTANT}; correct it"
        )
    return [(rating - 1) / (MOST_IMPORTANT - 1) for rating in found]
