"""The plain sentences of `eval/data/statements/plain.toml`, and who says them of whom."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

SENTENCES = Path(__file__).parents[1] / "data" / "statements" / "plain.toml"

Act = Literal["states", "begins", "ends", "denies"]
Half = Literal["dev", "test"]
Voice = Literal["named", "user", "third"]  # of oneself under a name, of oneself without one, of another


class Sentences(BaseModel):
    """Sentences of one grammatical person, by what they do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    states: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()


class Plain(BaseModel):
    """The plain sentences and questions of one relation.

    `subjects` and `values` name pools, `topics` a pool each, `free_topics` those that only free paraphrases speak of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    subjects: str = "people"
    values: str = ""
    topics: Mapping[str, str] = {}
    free_topics: Mapping[str, str] = {}
    lasting: bool = False
    ordered: bool = False
    most: int = 3
    first: Sentences = Sentences()
    third: Sentences = Sentences()
    asks: tuple[str, ...]
    asks_me: tuple[str, ...] = ()

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Who can say it."""
        return ("named", "user", "third") if self.first.states else ("third",)

    def pool(self, topic: str) -> str:
        """Name of the pool of its objects."""
        return {**self.topics, **self.free_topics}[topic] if topic else self.values


class PlainFile(BaseModel):
    """All of the file. A pool's even entries are for development, its odd ones for the claims."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    relations: Mapping[str, Plain]
    pools: Mapping[str, tuple[str, ...]]

    def entries(self, pool: str, half: Half) -> tuple[str, ...]:
        """The names or values of one half of a pool."""
        return self.pools[pool][half == "test" :: 2]


def load_plain(path: Path = SENTENCES) -> PlainFile:
    """Read the file. Raises pydantic's `ValidationError` for one that is not of the format."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    pools = tables.pop("pools")
    return PlainFile.model_validate(
        {"pools": pools, "relations": {name: {"name": name, **table} for name, table in tables.items()}}
    )


@dataclass(frozen=True)
class Teller:
    """Says plain sentences of one relation (and topic) about one subject, the name under which facts are kept."""

    plain: Plain
    voice: Voice
    subject: str
    topic: str = ""

    @property
    def speaker(self) -> str | None:
        """The name that the messages carry."""
        return self.subject if self.voice == "named" else None

    @property
    def sentences(self) -> Sentences:
        """Those of the voice's grammatical person."""
        return self.plain.third if self.voice == "third" else self.plain.first

    def can(self, act: Act) -> bool:
        """Whether there are sentences that do so."""
        return bool(getattr(self.sentences, act))

    def say(self, act: Act, value: str, rng: random.Random, *, old: str | None = None) -> str:
        """One of the sentences; those that name the value before only where there is one."""
        fitting = [text for text in getattr(self.sentences, act) if old is not None or "{old}" not in text]
        return filled(rng.choice(fitting), s=self.subject, o=value, old=old or "", t=self.topic)

    def ask(self, rng: random.Random) -> str:
        """One of the questions for its value."""
        asks = self.plain.asks_me if self.voice == "user" else self.plain.asks
        return filled(rng.choice(asks), s=self.subject, t=self.topic)


def filled(template: str, **words: str) -> str:
    """A template with its words put in, beginning with a capital."""
    text = template.format(**words)
    return text[0].upper() + text[1:]


def draw(entries: Sequence[str], n: int, rng: random.Random, *, without: Sequence[str] = ()) -> list[str]:
    """n different entries, none of them among `without`."""
    return rng.sample([entry for entry in entries if entry not in without], n)
