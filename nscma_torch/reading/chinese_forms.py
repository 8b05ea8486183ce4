"""Compile the notation for Chinese statements in `configs/relations.toml`, and match it against clauses.

A form is a regular expression with slots: `S` is the subject, `O` the object, `R` the previous object and `T` the
topic. `O:kind` (or `S:kind`, `R:kind`) overrides the relation's kind. `~` before a verb matches negation and adverbs:
"S~住在O". `O(?<=a|b)` is an object that ends in a or b; `O#` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from nscma_torch.reading.chinese import ADVERBS
from nscma_torch.reading.relations import Relation, Schema

Mood = Literal["states", "begins", "ends"]

_SLOT = re.compile(r"([SORT])(?::([a-z]+))?")
# At most five: "刚刚" is one adverb or two, and a run of them has too many readings to try them all.
_ADVERBS = rf"(?P<verb>(?:{ADVERBS}|(?<![评审例晨布年事乐晚聚大宴讨周月协员舞博运早班长动论])会){{0,5}})"


@dataclass(frozen=True, slots=True)
class Form:
    """A form for one relation. `slots` contains the kind of each slot."""

    relation: str
    mood: Mood
    source: str
    slots: Mapping[str, str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the regular expression that matches a clause, compiled on first use."""
        return _compiled(self.source)


def compile_forms(schema: Schema) -> list[Form]:
    """Compile all forms in a schema, in order."""
    found = []
    for relation in schema.relations.values():
        own = relation.zh
        moods: tuple[tuple[Mood, Sequence[str]], ...] = (
            ("begins", own.begins),
            ("ends", own.ends),
            ("states", own.states),
        )
        found += [Form(relation.name, mood, one, _kinds(relation, one)) for mood, sources in moods for one in sources]
    return found


def _kinds(relation: Relation, source: str) -> dict[str, str]:
    default = {"S": relation.subject, "O": relation.object, "R": relation.object, "T": "thing"}
    return {slot: kind or default[slot] for slot, kind in _SLOT.findall(source)}


@cache  # of the forms of schemas, nothing that users said
def _compiled(source: str) -> re.Pattern[str]:
    ended = re.sub(r"([SORT])\(\?<=\(?([^()]*)\)?\)", r"(?P<\1>.*?(?:\2))", source)
    ended = ended.replace("O#", "(?P<O>[0-9〇零一二两三四五六七八九十百千万.]+)")
    pattern = re.sub(r"(?<!<)([ORT])(?::[a-z]+)?(?![>])", r"(?P<\1>.+?)", ended)
    pattern = re.sub(r"(?<!<)S(?::[a-z]+)?(?![>])", r"(?P<S>.*?)", pattern)
    pattern = pattern.replace("~?", "~").replace("~", _ADVERBS, 1).replace("~", "")
    return re.compile(pattern + r"(?:了|啦|呢|哦|啊)*$")
