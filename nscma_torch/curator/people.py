"""Identify speakers by a key that stores no name."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.curator.store.derived_sources import Heard
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.text.names import name_key


def person_key(name: str | None) -> str:
    """Return the key of a person; one key for all messages without a name."""
    return derive_id("speaker", name_key(name or ""))


def by_person(said: Sequence[Heard]) -> dict[str, list[Heard]]:
    """Return the messages of each person, by key, in order of arrival."""
    found: dict[str, list[Heard]] = {}
    for one in said:
        found.setdefault(person_key(one.name), []).append(one)
    return found
