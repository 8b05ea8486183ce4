"""Find out which of the speakers in an export is the owner of the memory."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message

_MOST_NAMED = 20  # speakers listed in an error


@dataclass(frozen=True, slots=True)
class Speaker:
    """Somebody who speaks in an export. `id` identifies them in it; `also` contains further names and ids.

    `is_owner` is None if the export doesn't tell whose it is.
    """

    id: str
    name: str
    also: tuple[str, ...] = ()
    is_owner: bool | None = None
    is_bot: bool = False


class Speakers:
    """The speakers in an export, with the number of their messages."""

    def __init__(self) -> None:
        self._messages: Counter[str] = Counter()
        self._known: dict[str, Speaker] = {}
        self._owners: set[str] = set()

    def add(self, speaker: Speaker) -> None:
        """Count a message by this speaker."""
        self._messages[speaker.id] += 1
        self._known.setdefault(speaker.id, speaker)
        if speaker.is_owner:
            self._owners.add(speaker.id)

    def owners(self, me: Collection[str]) -> frozenset[str]:
        """Return the ids of the owner: those with a name or id in `me`, or else the one that the export tells.

        Raises `InvalidInputError` with the names if nobody, or more than one person, has such a name, or if `me` is
        empty and the export doesn't tell the owner.
        """
        if me:
            return frozenset(self._named(name) for name in me)
        people = [one for one in self._known.values() if not one.is_bot]
        if len(self._owners) == 1 or all(one.is_owner is False for one in people):
            return frozenset(self._owners)
        raise InvalidInputError(f"whose messages are yours? pass --me NAME, with one of: {self._listed(people)}")

    def _named(self, name: str) -> str:
        wanted = _key(name)
        found = [one for one in self._known.values() if wanted in map(_key, (one.id, one.name, *one.also))]
        if any(one.id == name for one in found):
            return name
        if len(found) == 1:
            return found[0].id
        if not found:
            raise InvalidInputError(f"nobody is called {name!r}; --me takes one of: {self._listed()}")
        ids = ", ".join(sorted(one.id for one in found))
        raise InvalidInputError(f"{len(found)} speakers are called {name!r}; pass --me with an id: {ids}")

    def _listed(self, among: Collection[Speaker] | None = None) -> str:
        people = self._known.values() if among is None else among
        ordered = sorted(people, key=lambda one: (-self._messages[one.id], one.name, one.id))
        names = [one.name for one in ordered[:_MOST_NAMED]]
        more = len(ordered) - len(names)
        return ", ".join(map(repr, names)) + (f" and {more:,} more" if more > 0 else "")


def spoken_by(message: Message, speaker: Speaker, owners: Collection[str]) -> Message:
    """Return the message with its speaker: the owner's have the role "user" without a name, as "I" then means the user;
    other people's have their name, and a bot's the role "assistant".
    """
    if speaker.id in owners:
        metadata = {**message.metadata, "speaker": speaker.name}
        return replace(message, role="user", name=None, metadata=metadata)
    return replace(message, role="assistant" if speaker.is_bot else "user", name=speaker.name)


def _key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())
