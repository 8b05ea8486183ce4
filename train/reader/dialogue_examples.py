"""Examples of the labelled dialogues: questions with hard negatives of the same dialogue, stances, changes, mentions.

Hard negatives of a question are the messages of its dialogue that share most with it or hold an outdated or confusable
value; a message that holds a value of another time than asked is no negative for its span.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from nscma_torch.reading.reader_input import TURNS_BEFORE, Passage, asked_by
from nscma_torch.reading.reader_model import CHANGES, KINDS, STANCES, TENSES
from train.reader.dialogue_text import Dialogue, Question
from train.reader.examples import Example, Labelled, Span

NEGATIVES = (1, 5)  # fewest and most messages beside the evidence
MENTION_TURNS = 3  # before a mention that are looked at, and more where it is named earlier
_KIND = {"yesno": "yes", "when": "when", "count": "count", "list": "list"}
_WORD = re.compile(r"\w+")


def dialogue_examples(dialogue: Dialogue, rng: random.Random) -> Iterator[Example]:
    """All examples of a dialogue."""
    for question in dialogue.questions:
        yield question_example(dialogue, question, rng)
    source = dialogue.id
    for statement in dialogue.statements:
        said = f"{statement.subject} {statement.predicate} {statement.object}"
        only = Labelled(passage_of(dialogue, statement.number), holds=None)
        yield Example(source, "stance", said, (only,), label=STANCES.index(statement.stance))
    for change in dialogue.changes:
        for number, label in ((change.old_number, change.kind), *_unchanged(dialogue, change.new_number, rng)):
            only = Labelled(passage_of(dialogue, change.new_number), holds=None)
            earlier = dialogue.messages[number - 1]
            yield Example(source, "change", f"{earlier.speaker}: {earlier.text}", (only,), label=CHANGES.index(label))
    for mention in dialogue.coreferences:
        if mention.referent_number <= mention.number:
            yield _coreference(dialogue, mention.number, mention.mention, mention.referent, mention.referent_number)


def passage_of(dialogue: Dialogue, number: int) -> Passage:
    """A message with the turns before it on the same day."""
    message = dialogue.messages[number - 1]
    before = [
        f"{m.speaker}: {m.text}"
        for m in dialogue.messages[max(0, number - 1 - TURNS_BEFORE) : number - 1]
        if m.said_at.date() == message.said_at.date()
    ]
    return Passage(message.text, message.speaker, message.said_at, tuple(before))


def question_example(dialogue: Dialogue, question: Question, rng: random.Random | None) -> Example:
    """A question over its evidence and the messages most like it; over all messages without `rng`."""
    numbers = list(range(1, len(dialogue.messages) + 1))
    if rng is not None:
        others = [n for n in numbers if n not in question.evidence]
        near = sorted(others, key=lambda n: -_likeness(dialogue, n, question) - rng.random())
        numbers = sorted({*question.evidence, *near[: rng.randint(*NEGATIVES)]})
    kind: int | None = None
    if question.type == "yesno":
        kind = KINDS.index(question.gold[0][0].lower())
    elif question.type != "unanswerable":
        kind = KINDS.index(_KIND.get(question.type, "span"))
    asked = asked_by(dialogue.messages[0].speaker, question.text)
    tense = None if kind is None else TENSES.index("past" if question.type == "past" else "present")
    passages = tuple(_labelled(dialogue, question, n) for n in numbers)
    return Example(dialogue.id, "read", asked, passages, kind=kind, tense=tense)


def _labelled(dialogue: Dialogue, question: Question, number: int) -> Labelled:
    passage = passage_of(dialogue, number)
    if number not in question.evidence:
        outdated = tuple(span for value in question.stale for span in spans_of(passage, value))
        return Labelled(passage, (), outdated if question.type in ("current", "past") else (), False)
    wordings = [question.said] if question.said else [w for member in question.gold for w in member]
    if question.type in ("yesno", "count"):
        return Labelled(passage, (), (), True)
    answers: list[Span] = []
    for wording in wordings:
        answers += spans_of(passage, wording)
    if question.type not in ("list", "count"):  # the longest wordings that stand there, not the words within them
        answers = [a for a in answers if not any(b != a and b.start <= a.start and a.end <= b.end for b in answers)]
    # a message that only leads to the answer is neither a negative nor an answer
    return Labelled(passage, tuple(dict.fromkeys(answers)), (), True if answers else None)


def spans_of(passage: Passage, wording: str) -> list[Span]:
    """Where a wording stands in the text as whole words, or the speaker's name where that is the wording."""
    pattern = re.compile(rf"(?<!\w){re.escape(_plain(wording))}(?!\w)")
    found = [Span(m.start(), m.end()) for m in pattern.finditer(_plain(passage.text))]
    if not found and passage.speaker and _plain(passage.speaker) in _WORD.findall(_plain(wording)):
        return [Span(0, len(passage.speaker), of_text=False)]
    return found


def _plain(text: str) -> str:
    """Lower case, of the same length."""
    lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lowered.replace("’", "'").replace("‘", "'")


def _likeness(dialogue: Dialogue, number: int, question: Question) -> float:
    text = _plain(dialogue.messages[number - 1].text)
    shared = set(_WORD.findall(_plain(question.text))) & set(_WORD.findall(text))
    return sum(len(word) > 3 for word in shared) + 2 * sum(_plain(value) in text for value in question.stale)


def _unchanged(dialogue: Dialogue, number: int, rng: random.Random) -> Sequence[tuple[int, str]]:
    """An earlier message that this one neither repeats nor changes."""
    concerned = {c.old_number for c in dialogue.changes if c.new_number == number}
    free = [n for n in range(1, number) if n not in concerned]
    return [(rng.choice(free), "none")] if free else []


def _coreference(dialogue: Dialogue, number: int, mention: str, referent: str, at: int) -> Example:
    message = dialogue.messages[number - 1]
    asked = f'who or what is "{mention}" in "{message.speaker}: {message.text}"?'
    passages = []
    for n in range(max(1, min(at, number - MENTION_TURNS)), number + 1):
        passage = passage_of(dialogue, n)
        answers = tuple(spans_of(passage, referent)) if n == at else ()
        passages.append(Labelled(passage, answers, (), bool(answers) if n == at else None))
    return Example(dialogue.id, "read", asked, tuple(passages), kind=KINDS.index("span"))
