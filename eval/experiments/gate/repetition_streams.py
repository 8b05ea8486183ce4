"""Streams of messages most of which repeat earlier ones, in the same words or in others.

Facts and their wordings are in `statements/repetition.toml`. What is restated still holds: a fact that was denied, or
whose value changed, is not said again.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

Half = Literal["dev", "test"]
FILE = Path(__file__).parents[2] / "data" / "statements" / "repetition.toml"

MESSAGES = 60  # of a stream
REPEATED = 36  # of them, 60 %: half of them verbatim, half paraphrased
HARD = 9  # of the others: new, but like something old

REPEATS = ("verbatim: copied", "verbatim: quoted", "verbatim: memories", "paraphrased: plain", "paraphrased: quoted")
LIKE_OLD: Mapping[str, str] = MappingProxyType(  # what the slot of a new value is called in the table
    dict.fromkeys(("person", "person2", "petname", "firm", "book", "school"), "hard: other name")
    | dict.fromkeys(("city", "country"), "hard: other place")
    | dict.fromkeys(("number", "amount", "price", "dose", "age", "secret"), "hard: other number")
    | dict.fromkeys(("date", "day", "time", "month"), "hard: other date")
)
OTHER_VALUE, DENIED, BACK = "hard: other value", "hard: denied or over", "hard: changed back"
KINDS = (*REPEATS, "new", *dict.fromkeys(LIKE_OLD.values()), OTHER_VALUE, DENIED, BACK)

_QUOTES: Mapping[Half, Sequence[str]] = {
    "dev": ("> {said}", 'You said: "{said}"', "As I said, {said}", "As I mentioned, {said}", "User: {said}"),
    "test": (
        ">> {said}",
        "You told me: {said}",
        "Like I said before, {said}",
        "As I told you, {said}",
        "I wrote: “{said}”",
    ),
}
_HEADINGS: Mapping[Half, Sequence[str]] = {
    "dev": ("Relevant memories:", "What I remember about you:"),
    "test": ("Recalled:", "Here is what is stored:"),
}
_BULLETS: Mapping[Half, Sequence[str]] = {"dev": ("- ", "1. "), "test": ("* ", "[2024-05-01] ")}


@dataclass(frozen=True)
class Said:
    """A message and what it is, one of `KINDS`."""

    kind: str
    text: str


@dataclass(frozen=True)
class _Stated:
    """A fact that holds, with its values, and the wordings that were used for it."""

    fact: Mapping[str, Any]
    values: Mapping[str, str]
    used: tuple[str, ...]


class _Speaker:
    """Draws the messages of one stream."""

    def __init__(self, half: Half, rng: random.Random) -> None:
        self._half: Half = half
        self._rng = rng
        stored = tomllib.loads(FILE.read_text(encoding="utf-8"))
        self._pools: Mapping[str, list[str]] = stored[half]
        self._unsaid: list[Mapping[str, Any]] = stored["fact"]
        rng.shuffle(self._unsaid)
        self._holding: list[_Stated] = []
        self._over: list[_Stated] = []  # another value took their place

    def new(self) -> Said:
        fact = self._unsaid.pop()
        slots = sorted({slot for wording in fact[self._half] for slot in re.findall(r"{(\w+)}", wording)})
        values: dict[str, str] = {}
        for slot in slots:
            values[slot] = self._rng.choice(self._free(slot, values.values()))
        return self._state("new", fact, values, fact[self._half])

    def hard(self) -> Said:
        """A new value for something that was said, or its end, or what it was once before."""
        old = self._holding.pop(self._rng.randrange(len(self._holding)))
        drawn = self._rng.random()
        if drawn < 0.3:
            return Said(DENIED, filled(self._rng.choice(old.fact["changes"][self._half]), old.values))
        earlier = [own for own in self._over if own.fact is old.fact and own.values != old.values]
        self._over.append(old)
        taken = {value for own in self._over if own.fact is old.fact for value in own.values.values()}
        free = [slot for slot in sorted(old.values) if self._free(slot, taken)]
        if earlier and (drawn < 0.6 or not free):
            back = earlier[-1]
            self._holding.append(back)
            return Said(BACK, filled(self._rng.choice(back.used), back.values))
        slot = self._rng.choice(free)
        values = {**old.values, slot: self._rng.choice(self._free(slot, taken))}
        wordings = old.used if self._rng.random() < 0.5 else old.fact[self._half]
        return self._state(LIKE_OLD.get(slot, OTHER_VALUE), old.fact, values, wordings)

    def repeat(self, kind: str) -> Said:
        if kind == "verbatim: memories":
            chosen = self._rng.sample(self._holding, min(len(self._holding), self._rng.randint(2, 4)))
            bullet = self._rng.choice(_BULLETS[self._half])
            lines = [bullet + filled(stated.used[0], stated.values) for stated in chosen]
            return Said(kind, "\n".join([self._rng.choice(_HEADINGS[self._half]), *lines]))
        at = self._rng.randrange(len(self._holding))
        if kind.startswith("paraphrased"):
            fresh = [i for i, stated in enumerate(self._holding) if len(stated.used) < len(stated.fact[self._half])]
            at = self._rng.choice(fresh)
            stated = self._holding[at]
            wording = self._rng.choice([own for own in stated.fact[self._half] if own not in stated.used])
            self._holding[at] = _Stated(stated.fact, stated.values, (*stated.used, wording))
        else:
            stated = self._holding[at]
            wording = self._rng.choice(stated.used)
        text = filled(wording, stated.values)
        if kind.endswith("quoted"):
            quote = self._rng.choice(_QUOTES[self._half])
            inside = quote.endswith(", {said}") and not text.startswith(("I ", "I'"))
            starts_with_name = any(text.startswith(value[:1].upper() + value[1:]) for value in stated.values.values())
            text = quote.format(said=text[0].lower() + text[1:] if inside and not starts_with_name else text)
        elif kind == "verbatim: copied":
            text = self._rng.choice((text, text, text.lower(), text.replace(" ", "  ")))
        return Said(kind, text)

    def can(self, kind: str) -> bool:
        """Whether such a message can be drawn now."""
        if kind == "new":
            return True
        if kind.startswith("paraphrased"):
            return any(len(stated.used) < len(stated.fact[self._half]) for stated in self._holding)
        return len(self._holding) >= 2

    def _state(self, kind: str, fact: Mapping[str, Any], values: Mapping[str, str], wordings: Sequence[str]) -> Said:
        wording = self._rng.choice(wordings)
        self._holding.append(_Stated(fact, values, (wording,)))
        return Said(kind, filled(wording, values))

    def _free(self, slot: str, taken: Collection[str]) -> list[str]:
        """The values for a slot that are not taken."""
        return [value for value in self._pools[slot.rstrip("2")] if value not in taken]


def filled(wording: str, values: Mapping[str, str]) -> str:
    """A wording with its values, beginning with a capital."""
    text = wording.format(**values)
    return text[0].upper() + text[1:]


def stream(half: Half, seed: int) -> list[Said]:
    """`MESSAGES` messages of a half; the same for the same seed."""
    rng = random.Random(f"{half} {seed}")
    speaker = _Speaker(half, rng)
    left = ["new"] * (MESSAGES - REPEATED - HARD) + ["hard"] * HARD
    left += [REPEATS[i % 3] if i < REPEATED // 2 else REPEATS[3 + (i % 4 == 0)] for i in range(REPEATED)]
    rng.shuffle(left)
    said = []
    while left:
        kind = next((kind for kind in left if speaker.can(kind)), None)
        assert kind is not None, "as many facts can be said anew as there are repeats left"
        left.remove(kind)
        said.append(speaker.new() if kind == "new" else speaker.hard() if kind == "hard" else speaker.repeat(kind))
    return said
