"""The text format of the extractor's exchanges: a few messages, and every fact that they state.

A file holds any number of exchanges:

    == maya-keys
    -- 2025-03-02
    1 Maya: so the keys to the flat in lyon are finally mine. paris, it was nice knowing you
    2 Tom: congrats! did anyone want the old printer? they ask 40 for those
    = 1 | lives_in | Maya | lyon
    = 1 | lives_in | Maya | paris | ended
    = 2 | costs | old printer | 40 | supposed
    ~ 2 | old printer | was offered to | anyone | denied

A line with "=" has the message, a relation of the schema, subject and object, and may have a stance (without one the
fact holds) and `topic: WORDS`. A line with "~" is a fact of no relation: message, subject, predicate, object, stance.
The object stands word for word, but for case, in the message or in one before it. Every fact of the schema that a
message states has a line: what has none is not stated.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nscma_torch.reading.fact_questions import has_topic
from nscma_torch.reading.relations import Schema
from train.reader.dialogue_text import STANCES, DialogueError, Message
from train.reader.examples import plain

_HEAD = re.compile(r"== (?P<id>[\w-]+)")
_MESSAGE = re.compile(r"(?P<number>\d+) (?P<speaker>[^:]{1,40}): (?P<text>.+)")
_TOPIC = "topic: "


@dataclass(frozen=True, slots=True)
class LabelledFact:
    """What message `number` says: of a relation of the schema, or, where `open`, of a predicate in its own words."""

    number: int
    relation: str
    subject: str
    object: str
    stance: str = "holds"
    topic: str = ""
    open: bool = False


@dataclass(slots=True)
class Exchange:
    """Messages of one day, the first with the number 1, and all facts of the schema that they state."""

    id: str
    messages: list[Message] = field(default_factory=list)
    facts: list[LabelledFact] = field(default_factory=list)


def read_exchanges(path: Path, relations: Collection[str], topics: Collection[str]) -> Iterator[Exchange]:
    """The exchanges of a file, in their order; DialogueError at the first line that is wrong.

    `relations` are the names of the schema, and `topics` those of them that need a topic.
    """
    exchange: Exchange | None = None
    day: datetime.datetime | None = None
    for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            if line.startswith("== "):
                if exchange is not None:
                    yield exchange
                head = _HEAD.fullmatch(line.strip())
                if head is None:
                    raise DialogueError("an exchange begins with '== id'")
                exchange, day = Exchange(head["id"]), None
            elif exchange is None:
                raise DialogueError("a file begins with '== id'")
            elif line.startswith("-- "):
                day = datetime.datetime.strptime(line[3:].strip()[:10], "%Y-%m-%d")
            elif line[0] in "=~":
                exchange.facts.append(_fact(exchange, line, relations, topics))
            else:
                exchange.messages.append(_message(exchange, day, line))
        except DialogueError as error:
            raise DialogueError(f"{path}:{row}: {error} in {line!r}") from None
    if exchange is not None:
        yield exchange


def read_all(folder: Path, schema: Schema) -> Iterator[Exchange]:
    """The exchanges of all authors of a folder, each of whom has a folder in it."""
    topics = [name for name, relation in schema.relations.items() if has_topic(relation)]
    for path in sorted(folder.glob("*/*.txt")):
        yield from read_exchanges(path, schema.relations.keys(), topics)


def _message(exchange: Exchange, day: datetime.datetime | None, line: str) -> Message:
    found = _MESSAGE.fullmatch(line)
    if found is None:
        raise DialogueError("a message is 'NUMBER SPEAKER: TEXT'")
    if day is None:
        raise DialogueError("a message needs a day before it: '-- 2025-03-02'")
    if int(found["number"]) != len(exchange.messages) + 1 or exchange.facts:
        raise DialogueError("messages are numbered from 1 and stand before the facts")
    minutes = datetime.timedelta(hours=9, minutes=len(exchange.messages))
    return Message(found["speaker"].strip(), found["text"].strip(), day + minutes)


def _fact(exchange: Exchange, line: str, relations: Collection[str], topics: Collection[str]) -> LabelledFact:
    number, *rest = (part.strip() for part in line[1:].split(" | "))
    if not number.isdigit() or not 1 <= int(number) <= len(exchange.messages):
        raise DialogueError(f"no message has the number {number!r}")
    topic = next((part.removeprefix(_TOPIC) for part in rest if part.startswith(_TOPIC)), "")
    rest = [part for part in rest if not part.startswith(_TOPIC)]
    if len(rest) not in (3, 4) or not all(rest):
        raise DialogueError("a fact is 'MESSAGE | relation | subject | object | stance'; the stance may be left out")
    stance = rest[3] if len(rest) == 4 else "holds"
    if stance not in STANCES:
        raise DialogueError(f"no stance is called {stance!r}: {', '.join(STANCES)}")
    if line[0] == "~":
        subject, relation, value = rest[:3]
    else:
        relation, subject, value = rest[:3]
        if relation not in relations:
            raise DialogueError(f"the schema has no relation {relation!r}")
        if bool(topic) != (relation in topics):
            raise DialogueError(f"{relation} {'needs a' if relation in topics else 'has no'} topic")
    said = plain(" ".join(message.text for message in exchange.messages[: int(number)]))
    names = {plain(message.speaker) for message in exchange.messages}
    if plain(value) not in said and plain(value) not in names and plain(value.split("'s ")[0]) not in names:
        raise DialogueError(f"{value!r} stands in no message up to {number}")
    return LabelledFact(int(number), relation, subject, value, stance, topic, open=line[0] == "~")
