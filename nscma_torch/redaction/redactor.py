"""Replace what must not be stored in a message by its kind in brackets, such as [card]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from nscma_torch.core.records import Message


class Found(NamedTuple):
    """Characters `start` to `end` of a text, and their kind."""

    start: int
    end: int
    kind: str


Finder = Callable[[str], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Masked:
    """A message without what must not be stored, and the kinds of what was masked, in their order."""

    message: Message
    kinds: tuple[str, ...]


class Redactor:
    """Masks what any of its finders finds."""

    def __init__(self, finders: Sequence[Finder]) -> None:
        self._finders = finders

    def text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the masked text, and the kind of each part that was masked.

        Parts that overlap are masked as one, of the kind of the first and longest.
        """
        found = sorted((one for finder in self._finders for one in finder(text)), key=lambda one: (one.start, -one.end))
        pieces: list[str] = []
        kinds: list[str] = []
        done = 0
        for one in found:
            if text[one.start : one.end] == f"[{one.kind}]":  # it was masked before
                continue
            if one.start >= done:
                pieces += (text[done : one.start], f"[{one.kind}]")
                kinds.append(one.kind)
            done = max(done, one.end)
        return "".join([*pieces, text[done:]]), tuple(kinds)

    def message(self, message: Message) -> Masked:
        """Mask a message's text and the strings in its metadata; the names of metadata stay."""
        text, kinds = self.text(message.content)
        metadata, more = self._value(message.metadata)
        if not kinds and not more:
            return Masked(message, ())
        return Masked(replace(message, content=text, metadata=metadata), (*kinds, *more))

    def _value(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            masked = {name: self._value(one) for name, one in value.items()}
            return {name: one for name, (one, _) in masked.items()}, _joined(kinds for _, kinds in masked.values())
        if isinstance(value, list | tuple):
            items = [self._value(one) for one in value]
            return [one for one, _ in items], _joined(kinds for _, kinds in items)
        return value, ()


def _joined(kinds: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(kind for some in kinds for kind in some)
