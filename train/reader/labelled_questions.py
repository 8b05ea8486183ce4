"""The text format of labelled questions: each with the lookup in facts that it asks for.

One question a line; lines that begin with "#" and empty ones are left out:

    Where does my sister work these days? => object works_at S=my sister
    what was my old phone number => object previous value S=my | T=phone number
    What country is Ana living in? => object lives_in>part_of S=Ana
    Is Anna my sister? => whether sibling S=my | O=Anna | T=sister
    And before that? => again previous
    How do I cook rice? => none

A label is what is asked (`ASKS` of the model), flags (`previous`, `count`, `named`), a relation, `>part_of` where the
walk goes on from there, and the slots: subject S, object O, topic T, and B, what came after what is asked for. A slot
stands word for word in the question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nscma_torch.reading.question_model import ASKS, FLAGS

SLOT_LETTERS = "SOTB"  # in the order of the model's slots
_LABEL = re.compile(
    r"(?P<asks>\w+)(?P<flags>(?: (?:previous|count|named))*) "
    r"(?P<relation>\w+)(?P<onward>>part_of)?(?: (?P<slots>[SOTB]=.+))?"
)


class QuestionLineError(ValueError):
    """A line that does not follow the format."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and what it asks for; `slots` are characters [start, end) of the text, by letter."""

    text: str
    asks: str
    relation: str
    flags: frozenset[str]
    slots: Mapping[str, tuple[int, int]]


def read_questions(path: Path, relations: Collection[str]) -> Iterator[LabelledQuestion]:
    """The questions of a file, in their order; QuestionLineError at the first line that is wrong."""
    for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield _question(line, relations)
        except QuestionLineError as error:
            raise QuestionLineError(f"{path}:{row}: {error} in {line!r}") from None


def read_folder(folder: Path, relations: Collection[str]) -> Iterator[LabelledQuestion]:
    """The questions of all files of a folder, one an author."""
    for path in sorted(folder.glob("*.txt")):
        yield from read_questions(path, relations)


def _question(line: str, relations: Collection[str]) -> LabelledQuestion:
    text, arrow, label = (part.strip() for part in line.rpartition(" => "))
    if not arrow or not text:
        raise QuestionLineError("a line is 'QUESTION => LABEL'")
    if label == "none":
        return LabelledQuestion(text, label, "", frozenset(), {})
    if label in ("again", "again previous"):
        return LabelledQuestion(text, "again", "", frozenset(), {})
    found = _LABEL.fullmatch(label)
    if found is None or found["asks"] not in ASKS:
        raise QuestionLineError(
            "a label is 'none', 'again' or 'ASKS [flags] RELATION[>part_of] [S=… | O=… | T=… | B=…]'"
        )
    if found["relation"] not in relations:
        raise QuestionLineError(f"no relation is named {found['relation']!r}")
    flags = {*found["flags"].split(), *(["onward"] if found["onward"] else [])}
    slots = dict(_slot(text, part) for part in (found["slots"] or "").split(" | ") if part)
    return LabelledQuestion(text, found["asks"], found["relation"], frozenset(flags & set(FLAGS)), slots)


def _slot(text: str, part: str) -> tuple[str, tuple[int, int]]:
    letter, _, words = part.strip().partition("=")
    at = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text)
    if len(letter) != 1 or letter not in SLOT_LETTERS or at is None:
        raise QuestionLineError(f"{part!r} does not stand in the question")
    return letter, at.span()
