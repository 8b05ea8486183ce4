"""The text format of the reader's dialogues: messages, and questions, statements, changes and coreference about them.

A file holds any number of dialogues:

    == chat-001 | friends
    -- 2025-03-02 18:40
    1 Maya: started at the bakery on monday, my feet hurt
    2 Tom: nice! and Clara?
    -- 2025-06-11 09:12
    3 Maya: she moved to Lyon. and i'm at the florist's now, since may
    ? current Where does Maya work? | the florist's / florist | 3 | stale: bakery
    ? when When did Maya start at the bakery? | 2025-02-24 / 24 February | 1 | said: on monday
    = holds 1 | Maya | works at | the bakery
    ^ replaces 3 > 1 | Maya's job | the bakery > the florist's
    & 3 | she | Clara @ 2

A question has a type, its gold wordings separated by " / " ("-": the dialogue does not tell; members of a list
separated by " + "), the numbers of the messages that answer it, outdated or confusable values (`stale:`) and, where
the gold wording stands in none of these messages, what was said in its place (`said:`). A statement has a stance, its
message, subject, predicate and object. A change has a kind, the message that makes it and the one that it concerns, a
topic, and the old and the new value ("-" for no value). A coreference has its message, the mention, and what it stands
for with the message that says so. Whatever is quoted from a message stands in it word for word, but for case.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

QUESTION_TYPES = ("single", "current", "past", "when", "multihop", "yesno", "list", "count", "unanswerable")
STANCES = ("holds", "ended", "future", "denied", "wished", "supposed", "hearsay", "fiction")
CHANGES = ("replaces", "corrects", "ends", "cancels", "confirms")

_ASSISTANT = re.compile(r"(?:.*\s)?(?:(?:\w+-?)?assistant|agent|support|ai|\w*bot|\w*desk)", re.IGNORECASE)
_SPAN_TYPES = ("single", "current", "past", "multihop", "list")
_HEAD = re.compile(r"== (?P<id>[\w-]+) \| (?P<genre>.+)")
_DAY = re.compile(r"-- (?P<day>\d{4}-\d\d-\d\d \d\d:\d\d)")
_MESSAGE = re.compile(r"(?P<number>\d+) (?P<speaker>[^:]{1,40}): (?P<text>.+)")


class DialogueError(ValueError):
    """A line that does not follow the format, or a label that its dialogue does not bear out; tells file and line."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message, said at `said_at` by `speaker`. The first message of a dialogue has the number 1."""

    speaker: str
    text: str
    said_at: datetime.datetime
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked after the last message.

    Attributes:
        gold: the members of the answer, each with its accepted wordings; one member except for lists, none if the
            dialogue doesn't tell.
        evidence: numbers of messages.
        stale: outdated values, or values that are easily confused with the answer.
        said: numbers of messages with the words that carry the answer, if these are not a wording of `gold`.
        also: other ways to divide a list into members.
    """

    type: str
    text: str
    gold: tuple[tuple[str, ...], ...]
    evidence: tuple[int, ...]
    stale: tuple[str, ...] = ()
    said: tuple[tuple[int, str], ...] = ()
    also: tuple[tuple[tuple[str, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """What message `number` says, hopes, denies … (`stance`): subject and object around a predicate."""

    stance: str
    number: int
    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class Change:
    """Message `new_number` changes or repeats what message `old_number` said about `topic`."""

    kind: str
    new_number: int
    old_number: int
    topic: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Coreference:
    """`mention` in message `number` stands for `referent`, a wording of message `referent_number`."""

    number: int
    mention: str
    referent: str
    referent_number: int


@dataclass(slots=True)
class Dialogue:
    """Messages in the order of their time, and what was labelled about them."""

    id: str
    genre: str
    messages: list[Message] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    coreferences: list[Coreference] = field(default_factory=list)

    def says(self, number: int, wording: str) -> bool:
        """Whether message `number` holds `wording`, ignoring case and the kind of apostrophe."""
        return _plain(wording) in _plain(self.messages[number - 1].text)


def read_dialogues(path: Path) -> Iterator[Dialogue]:
    """The dialogues of a file in their order; raises DialogueError at the first line that is wrong."""
    dialogue: Dialogue | None = None
    day: datetime.datetime | None = None
    for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            if line.startswith("== "):
                if dialogue is not None:
                    yield dialogue
                head = _matched(_HEAD, line)
                dialogue, day = Dialogue(head["id"], head["genre"].strip()), None
            elif dialogue is None:
                raise DialogueError("a file begins with '== id | genre'")
            elif line.startswith("-- "):
                later = datetime.datetime.strptime(_matched(_DAY, line)["day"], "%Y-%m-%d %H:%M")
                if day is not None and later < day:
                    raise DialogueError("this day lies before the one above it")
                day = later
            elif line[0].isdigit():
                _add_message(dialogue, day, line)
            else:
                _add_label(dialogue, line)
        except DialogueError as error:
            raise DialogueError(f"{path}:{row}: {error} in {line!r}") from None
    if dialogue is not None:
        yield dialogue


def _add_message(dialogue: Dialogue, day: datetime.datetime | None, line: str) -> None:
    found = _matched(_MESSAGE, line)
    if day is None:
        raise DialogueError("a message comes after a line '-- YYYY-MM-DD HH:MM'")
    if int(found["number"]) != len(dialogue.messages) + 1:
        raise DialogueError(f"the next message has the number {len(dialogue.messages) + 1}")
    if dialogue.messages and dialogue.messages[-1].said_at >= day:
        day = dialogue.messages[-1].said_at + datetime.timedelta(seconds=30)
    speaker = found["speaker"].strip()
    owner = not dialogue.messages or dialogue.messages[0].speaker == speaker
    role = "assistant" if not owner and is_assistant(speaker) else "user"
    dialogue.messages.append(Message(speaker, found["text"].strip(), day, role))


def is_assistant(speaker: str) -> bool:
    """Return True if a speaker is named as an assistant, agent, bot or desk, not as a person."""
    return _ASSISTANT.fullmatch(speaker) is not None


def _add_label(dialogue: Dialogue, line: str) -> None:
    marker, _, rest = line.partition(" ")
    head, *fields = (part.strip() for part in rest.split(" | "))
    if marker == "?":
        dialogue.questions.append(_question(dialogue, head, fields))
    elif marker == "=":
        stance, _, number = head.partition(" ")
        _one_of(stance, STANCES, "stance")
        subject, predicate, value = _count(fields, 3, "subject | predicate | object")
        dialogue.statements.append(Statement(stance, _quoted(dialogue, number, value), subject, predicate, value))
    elif marker == "^":
        dialogue.changes.append(_change(dialogue, head, fields))
    elif marker == "&":
        mention, target = _count(fields, 2, "mention | referent @ number")
        referent, _, at = target.rpartition(" @ ")
        dialogue.coreferences.append(
            Coreference(_quoted(dialogue, head, mention), mention, referent, _quoted(dialogue, at, referent))
        )
    else:
        raise DialogueError("a line begins with '==', '--', a number, '?', '=', '^' or '&'")


def _question(dialogue: Dialogue, head: str, fields: list[str]) -> Question:
    kind, _, text = head.partition(" ")
    _one_of(kind, QUESTION_TYPES, "type of question")
    if not text:
        raise DialogueError("a question has a text after its type")
    if len(fields) < 2:
        raise DialogueError("a question has a gold answer and the numbers of its messages")
    gold_text, numbers, *options = fields
    evidence = tuple(_number(dialogue, n) for n in numbers.replace(",", " ").split() if n != "-")
    named = dict(option.partition(":")[::2] for option in options)
    if unknown := named.keys() - {"stale", "said"}:
        raise DialogueError(f"a question has no field {min(unknown)!r}; its fields are 'stale:' and 'said:'")
    stale = tuple(value.strip() for value in named.get("stale", "").split(" / ") if value.strip())
    said = named["said"].strip() if "said" in named else None
    if (gold_text == "-") != (kind == "unanswerable"):
        raise DialogueError("the gold answer is '-' for an unanswerable question, and for no other")
    gold: tuple[tuple[str, ...], ...] = ()
    if kind != "unanswerable":
        members = gold_text.split(" + ") if kind == "list" else [gold_text]
        gold = tuple(tuple(w.strip() for w in member.split(" / ") if w.strip()) for member in members)
        if not evidence or not all(gold):
            raise DialogueError("an answerable question has a gold wording and at least one message")
        _check_gold(dialogue, kind, gold, evidence, said)
    carried = tuple((n, said) for n in evidence if said is not None and dialogue.says(n, said))
    return Question(kind, text, gold, evidence, stale, carried)


def _check_gold(
    dialogue: Dialogue, kind: str, gold: tuple[tuple[str, ...], ...], evidence: tuple[int, ...], said: str | None
) -> None:
    if kind == "yesno" and gold[0][0].lower() not in ("yes", "no"):
        raise DialogueError("the gold answer of a yes/no question is 'yes' or 'no'")
    if said is not None:
        if not any(dialogue.says(n, said) for n in evidence):
            raise DialogueError(f"none of the messages {evidence} says {said!r}")
    elif kind in _SPAN_TYPES:
        for wordings in gold:
            if not any(_names_speaker(dialogue, n, w) or dialogue.says(n, w) for n in evidence for w in wordings):
                raise DialogueError(f"none of the messages {evidence} says {' or '.join(map(repr, wordings))}")
    elif kind == "when" and not any(dialogue.says(n, w) for n in evidence for w in gold[0]):
        raise DialogueError(f"none of the messages {evidence} says this date: tell what was said by 'said:'")


def _change(dialogue: Dialogue, head: str, fields: list[str]) -> Change:
    kind, _, numbers = head.partition(" ")
    _one_of(kind, CHANGES, "kind of change")
    topic, values = _count(fields, 2, "topic | old > new")
    new_number, _, old_number = numbers.partition(" > ")
    old, arrow, new = values.partition(" > ")
    if not arrow:
        raise DialogueError("the values of a change are 'old > new'")
    at, before = _number(dialogue, new_number), _number(dialogue, old_number)
    if before >= at:
        raise DialogueError("a change stands after the message that it concerns")
    for number, value in ((at, new.strip()), (before, old.strip())):
        if value != "-":
            _quoted(dialogue, str(number), value)
    return Change(kind, at, before, topic, _or_none(old.strip()), _or_none(new.strip()))


def _quoted(dialogue: Dialogue, number: str, wording: str) -> int:
    at = _number(dialogue, number)
    if not wording or not dialogue.says(at, wording):
        raise DialogueError(f"message {at} does not say {wording!r} word for word")
    return at


def _number(dialogue: Dialogue, text: str) -> int:
    text = text.strip()
    if not text.isdigit() or not 1 <= int(text) <= len(dialogue.messages):
        raise DialogueError(f"{text!r} is not the number of a message (1 to {len(dialogue.messages)})")
    return int(text)


def _names_speaker(dialogue: Dialogue, number: int, wording: str) -> bool:
    return _plain(dialogue.messages[number - 1].speaker) in _plain(wording)


def _one_of(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise DialogueError(f"{value!r} is no {what}; known are {', '.join(known)}")


def _count(fields: list[str], expected: int, shape: str) -> list[str]:
    if len(fields) != expected or not all(fields):
        raise DialogueError(f"expected {shape}")
    return fields


def _or_none(value: str) -> str | None:
    return None if value == "-" else value


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'").replace("‘", "'")


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    found = pattern.fullmatch(line)
    if found is None:
        raise DialogueError(f"expected the form {pattern.pattern}")
    return found
