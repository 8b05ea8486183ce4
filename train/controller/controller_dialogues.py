"""Simulated dialogues with known answers: what the controller's tool-use traces are made from.

A user told some facts in an earlier conversation. In the present one they chat, tell more, have something kept, and
ask: for what was said just now, for what was said before, for what was never said. Names and values are made-up words,
split in two by a digest, so that held-out dialogues speak of nothing that was trained on; the wording is in a file like
configs/train/controller_dialogues.toml, and the last template of each of its lists is held out too.
"""

from __future__ import annotations

import hashlib
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Split = Literal["train", "held out"]
Situation = Literal["talk", "told", "remember", "in context", "in memory", "unknown"]

SITUATIONS: Mapping[Situation, float] = {  # how often a turn is one, where it can be
    "talk": 1.0,
    "told": 2.0,
    "remember": 1.0,
    "in context": 5.0,
    "in memory": 3.5,
    "unknown": 1.5,
}
_ONSETS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "kl", "pr", "st", "tr"]
_VOWELS = ["a", "e", "i", "o", "u"]
_CODAS = ["", "", "", "n", "l", "r", "s"]
_HELD_OUT = 4  # one made-up word of so many is held out


@dataclass(frozen=True, slots=True)
class Fact:
    """Something told: its sentence, the question that it answers, and what the memory is asked for it."""

    kind: str
    name: str
    value: str
    said: str
    asked: str
    tool: Literal["retrieve_semantic", "retrieve_episodic"]
    entity: str
    query: str


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of the user.

    Attributes:
        fact: that it tells, asks to keep, or asks for; None for small talk.
        reply: the right one; of a question whose answer is not known, that.
        keep: what is to be kept, in the user's words; "" where nothing is.
    """

    text: str
    situation: Situation
    reply: str
    fact: Fact | None = None
    keep: str = ""

    @property
    def first_action(self) -> Literal["answer", "memorize", "retrieve"]:
        """The right first decision."""
        if self.situation in ("talk", "told", "in context"):
            return "answer"
        return "memorize" if self.situation == "remember" else "retrieve"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What was told in an earlier conversation, and the turns of the present one."""

    earlier: tuple[str, ...]
    turns: tuple[Said, ...]
    words: tuple[str, ...]  # the made-up ones


def made_up(rng: random.Random, split: Split) -> str:
    """A word of two or three syllables; no word belongs to both splits."""
    while True:
        syllables = [rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(rng.choice((2, 3)))]
        word = ("".join(syllables) + rng.choice(_CODAS)).capitalize()
        held_out = hashlib.sha256(word.encode()).digest()[0] % _HELD_OUT == 0
        if held_out == (split == "held out"):
            return word


class Wording:
    """Templates, with or without the held-out one of each list; `only` takes the held-out ones alone."""

    def __init__(self, templates: Mapping[str, Any], *, only_held_out: bool = False) -> None:
        self._templates = templates
        self._only = only_held_out
        self.kinds: tuple[str, ...] = tuple(templates["facts"])
        self.unknown: str = templates["unknown"]["reply"]
        self.told: str = templates["told"]["reply"]

    @classmethod
    def load(cls, path: Path, *, only_held_out: bool = False) -> Wording:
        """Read a file like configs/train/controller_dialogues.toml."""
        return cls(tomllib.loads(path.read_text(encoding="utf-8")), only_held_out=only_held_out)

    def facts(self, rng: random.Random, split: Split, *, kinds: int = 5, people: int = 3) -> list[Fact]:
        """Facts of so many kinds about so many people, or the user; each can stand beside the others."""
        words: list[str] = []
        while len(words) < max(24, people * (kinds + 1)):
            word = made_up(rng, split)
            if word not in words:
                words.append(word)
        names, values = words[:people], iter(words[people:])
        drawn = rng.sample(self.kinds, kinds)
        slots = list(dict.fromkeys((kind, name if self._named(kind) else "") for kind in drawn for name in names))
        rng.shuffle(slots)
        return [self._fact(rng, kind, name, next(values)) for kind, name in slots]

    def dialogue(self, rng: random.Random, split: Split) -> Dialogue:
        """One dialogue of 4 to 7 turns after 2 to 5 facts."""
        facts = self.facts(rng, split)
        words = dict.fromkeys(word for fact in facts for word in (fact.name, fact.value) if word)
        earlier, rest = facts[: rng.randint(2, 5)], facts[5:]
        turns: list[Said] = []
        here: list[Fact] = []
        asked: set[str] = set()
        wanted = rng.randint(4, 7)
        while len(turns) < wanted:
            situation = rng.choices(list(SITUATIONS), list(SITUATIONS.values()))[0]
            if situation == "talk":
                turns.append(self._talk(rng))
                continue
            pool = {"in context": here, "in memory": earlier}.get(situation, rest)
            open_ = [fact for fact in pool if fact.asked not in asked]
            if not open_:
                continue
            fact = rng.choice(open_)
            if situation in ("told", "remember"):
                here.append(fact)
            else:
                asked.add(fact.asked)
            if situation in ("told", "remember", "unknown"):
                rest.remove(fact)
            turns.append(self._turn(rng, situation, fact))
        return Dialogue(tuple(fact.said for fact in earlier), tuple(turns), tuple(words))

    def remember(self, rng: random.Random, fact: Fact) -> str:
        """The user's words that ask to keep a fact."""
        return self._one(rng, self._templates["remember"]["say"]).replace("{fact}", fact.said)

    def _turn(self, rng: random.Random, situation: Situation, fact: Fact) -> Said:
        if situation == "told":
            return Said(fact.said, situation, self.told, fact)
        if situation == "remember":
            return Said(self.remember(rng, fact), situation, self._templates["remember"]["reply"], fact, keep=fact.said)
        return Said(fact.asked, situation, self.unknown if situation == "unknown" else fact.value, fact)

    def _talk(self, rng: random.Random) -> Said:
        own = self._templates["talk"][rng.choice(list(self._templates["talk"]))]
        return Said(self._one(rng, own["say"]), "talk", own["reply"])

    def _fact(self, rng: random.Random, kind: str, name: str, value: str) -> Fact:
        own = self._templates["facts"][kind]

        def filled(template: str) -> str:
            return template.replace("{name}", name).replace("{value}", value)

        said, asked = filled(self._one(rng, own["say"])), filled(self._one(rng, own["ask"]))
        return Fact(kind, name, value, said, asked, own["tool"], filled(own["entity"]), filled(own["query"]))

    def _named(self, kind: str) -> bool:
        return any("{name}" in template for template in self._templates["facts"][kind]["say"])

    def _one(self, rng: random.Random, templates: Sequence[str]) -> str:
        return templates[-1] if self._only else rng.choice(templates[:-1])
