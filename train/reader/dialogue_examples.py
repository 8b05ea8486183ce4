"""Examples of the labelled dialogues: questions with hard negatives of the same dialogue, slots, stances, changes, and
mentions.

Hard negatives of a question are the messages of its dialogue that share most with it or hold an outdated or confusable
value, and the turns before what is read.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from nscma_torch.reading.reader_input import InputPassage, asked_by, slot_question
from nscma_torch.reading.reader_model import CHANGES, KINDS, STANCES
from nscma_torch.reading.turns_before import TURNS_BEFORE
from train.reader.dialogue_text import Dialogue, Question, Statement
from train.reader.examples import Example, Labelled, Span, plain

NEGATIVES = (0, 9)  # fewest and most messages beside the evidence
WITHOUT_EVIDENCE = 0.25  # share of questions that are asked of the others alone, where these tell nothing
OF_ANOTHER = 0.6  # share of questions that are also asked of a speaker of whom it was not told
MENTION_TURNS = 3  # before a mention that are looked at, and more where it is named earlier
_KIND = {"yesno": "yes", "when": "when", "count": "count", "list": "list"}
_ADVERBS = ("", "still ", "now ")
_WORD = re.compile(r"\w+")
_TOLD_OF_ONE = ("single", "current", "past", "when")
_OWN = re.compile(r"\b(?:I|[Mm]y|me|mine)\b")
_SHARED = re.compile(r"\b(?:we|us|our|ours)\b", re.IGNORECASE)


def dialogue_examples(dialogue: Dialogue, rng: random.Random) -> Iterator[Example]:
    """All examples of a dialogue."""
    for question in dialogue.questions:
        yield question_example(dialogue, question, rng)
        if rng.random() < OF_ANOTHER and (example := of_another(dialogue, question, rng)) is not None:
            yield example
    source = dialogue.id
    for statement in dialogue.statements:
        said = f"{statement.subject} {statement.predicate} {statement.object}"
        read = with_turns_before(dialogue, statement.number)
        yield Example(source, "stance", said, read, label=STANCES.index(statement.stance))
        yield _slot(dialogue, statement, statement.number, told=True)
        if (elsewhere := _silent(dialogue, statement, rng)) is not None:
            yield _slot(dialogue, statement, elsewhere, told=False)
    yield from change_examples(dialogue, rng)
    for question in change_questions(dialogue, rng):
        yield question_example(dialogue, question, rng)
    for mention in dialogue.coreferences:
        if mention.referent_number <= mention.number:
            yield _coreference(dialogue, mention.number, mention.mention, mention.referent, mention.referent_number)


def change_examples(dialogue: Dialogue, rng: random.Random) -> Iterator[Example]:
    """Yield an example for each change of an earlier message, and one for an earlier message that isn't changed."""
    for change in dialogue.changes:
        if change.old_number == change.new_number:  # corrected in the same breath
            continue
        read = with_turns_before(dialogue, change.new_number)
        for number, label in ((change.old_number, change.kind), *_unchanged(dialogue, change.new_number, rng)):
            earlier = dialogue.messages[number - 1]
            said = f"{earlier.speaker}: {earlier.text}"
            yield Example(dialogue.id, "change", said, read, label=CHANGES.index(label))


def change_questions(dialogue: Dialogue, rng: random.Random) -> Iterator[Question]:
    """Yield a yes-or-no question about the old or the new value of each topic's last change.

    Values that come back in a later change are left out.
    """
    last = {change.topic: change for change in dialogue.changes}
    for change in last.values():
        if change.kind not in ("replaces", "corrects") or change.old is None or change.new is None:
            continue
        if any(later.old_number == change.new_number < later.new_number for later in dialogue.changes):
            continue
        value, answer = rng.choice([(change.old, "no"), (change.new, "yes")])
        if plain(change.old) == plain(change.new):
            continue
        evidence = tuple(sorted({change.old_number, change.new_number}))
        yield Question("yesno", f"Is {change.topic} {rng.choice(_ADVERBS)}{value}?", ((answer,),), evidence)


def kind_of(question: Question) -> int:
    """Return the place in `KINDS` of a question's answer."""
    answer = question.gold[0][0].lower()
    return KINDS.index(answer if question.type == "yesno" else _KIND.get(question.type, "span"))


def passage_of(dialogue: Dialogue, number: int, *, rank: int = 0, context: bool = False) -> InputPassage:
    """A message as the reader reads it."""
    message = dialogue.messages[number - 1]
    return InputPassage(message.text, message.speaker, message.said_at, rank, context)


def with_turns_before(dialogue: Dialogue, number: int) -> tuple[Labelled, ...]:
    before = (Labelled(passage_of(dialogue, n, context=True), holds=None) for n in _turns_before(dialogue, number))
    return (*before, Labelled(passage_of(dialogue, number), holds=None))


def _slot(dialogue: Dialogue, statement: Statement, number: int, *, told: bool) -> Example:
    """What a message says about a subject and a predicate, and in which stance."""
    *before, own = with_turns_before(dialogue, number)
    answers = tuple(spans_of(own.passage, statement.object)) if told else ()
    asked = slot_question(statement.subject, statement.predicate)
    kind, label = (KINDS.index("span"), STANCES.index(statement.stance)) if told else (None, None)
    passages = (*before, Labelled(own.passage, answers, told))
    if not told:
        passages = tuple(Labelled(one.passage) for one in passages)
    return Example(dialogue.id, "read", asked, passages, kind=kind, label=label)


def _silent(dialogue: Dialogue, statement: Statement, rng: random.Random) -> int | None:
    """A message that, like the turns before it, is no part of what is said about the statement's subject and object."""
    object_words = set(_WORD.findall(plain(statement.object)))
    touched = {other.number for other in dialogue.statements if other.subject == statement.subject}
    touched |= {n for change in dialogue.changes for n in (change.old_number, change.new_number)}
    free = []
    for n in range(1, len(dialogue.messages) + 1):
        read = {n, *_turns_before(dialogue, n)}
        words = {word for m in read for word in _WORD.findall(plain(dialogue.messages[m - 1].text))}
        if not read & touched and not object_words & words:
            free.append(n)
    return rng.choice(free) if free else None


def _turns_before(dialogue: Dialogue, number: int) -> list[int]:
    """The messages before one on the same day."""
    day = dialogue.messages[number - 1].said_at.date()
    near = range(max(1, number - TURNS_BEFORE), number)
    return [n for n in near if dialogue.messages[n - 1].said_at.date() == day]


def question_example(dialogue: Dialogue, question: Question, rng: random.Random | None) -> Example:
    """A question over its evidence and the messages most like it; over all messages without `rng`."""
    numbers = list(range(1, len(dialogue.messages) + 1))
    ranks = dict.fromkeys(numbers, 0)
    answered = bool(question.gold)
    if rng is not None:
        chosen = nearest(dialogue, question, rng)
        without = bool(chosen) and rng.random() < WITHOUT_EVIDENCE and not _tells(dialogue, question, chosen)
        answered = answered and not without
        ranks = {n: rank for rank, n in enumerate([*(question.evidence if answered else ()), *chosen])}
    context = {b for n in ranks for b in _turns_before(dialogue, n)} if rng is not None else set()
    if not answered:
        context -= set(question.evidence)
    passages = []
    for n in sorted(ranks.keys() | context):
        passage = passage_of(dialogue, n, rank=ranks.get(n, 0), context=n not in ranks)
        passages.append(labelled(passage, question, n))
    kind = kind_of(question) if answered else None
    asked = asked_by(dialogue.messages[0].speaker, question.text)
    return Example(dialogue.id, "read", asked, tuple(passages), kind=kind)


def nearest(dialogue: Dialogue, question: Question, rng: random.Random) -> list[int]:
    """Draw the numbers of messages that are most like a question and aren't its evidence."""
    near = [n for n in range(1, len(dialogue.messages) + 1) if n not in question.evidence]
    near.sort(key=lambda n: -_likeness(dialogue, n, question) - rng.random())
    return near[: max(rng.randint(*NEGATIVES), 0 if question.gold else 1)]


def of_another(dialogue: Dialogue, question: Question, rng: random.Random) -> Example | None:
    """A question about what a speaker told of themselves, asked of another speaker: its passages do not answer it.

    None where it is not certain that it was told of one speaker alone.
    """
    asker = dialogue.messages[0].speaker
    speakers = list(dict.fromkeys(message.speaker for message in dialogue.messages))
    named = [name for name in speakers if re.search(rf"\b{re.escape(name)}\b", question.text)]
    owner = asker if not named and _OWN.search(question.text) else named[0] if len(named) == 1 else None
    told = [dialogue.messages[n - 1] for n in question.evidence]
    if question.type not in _TOLD_OF_ONE or owner is None or _SHARED.search(question.text):
        return None
    if not told or any(message.speaker != owner for message in told):
        return None
    others = [name for name in speakers if name != owner and not any(name in message.text for message in told)]
    if not others:
        return None
    other = rng.choice(others)
    text = question.text if not named else re.sub(rf"\b{re.escape(owner)}\b", other, question.text)
    example = question_example(dialogue, question, rng)
    passages = tuple(Labelled(one.passage) for one in example.passages)
    return Example(dialogue.id, "read", asked_by(asker if named else other, text), passages)


def _tells(dialogue: Dialogue, question: Question, numbers: Sequence[int]) -> bool:
    """Whether messages may answer a question, or hold what once did, without its evidence."""
    if question.type in ("yesno", "count", "multihop"):
        return True
    wordings = [*(w for member in question.gold for w in member), *question.stale, *(w for _, w in question.said)]
    return any(dialogue.says(n, wording) for n in numbers for wording in wordings)


def labelled(passage: InputPassage, question: Question, number: int) -> Labelled:
    """Label message `number` with the spans that answer a question."""
    if number not in question.evidence:
        return Labelled(passage)
    if question.type == "yesno":
        return Labelled(passage, (), True)
    wordings = [words for n, words in question.said if n == number]
    if not question.said:
        wordings = [wording for member in question.gold for wording in member]
    answers = [span for wording in wordings for span in spans_of(passage, wording)]
    if question.type == "count":  # a number that is told is an answer; things that are counted are not labelled
        return Labelled(passage, tuple(dict.fromkeys(answers)), True)
    if question.type != "list":  # the longest wordings that stand there, not the words within them
        answers = [a for a in answers if not any(b != a and b.start <= a.start and a.end <= b.end for b in answers)]
    # a message that only leads to the answer holds none, and is evidence of it
    return Labelled(passage, tuple(dict.fromkeys(answers)), True)


def spans_of(passage: InputPassage, wording: str) -> list[Span]:
    """Where a wording stands in the text as whole words, or the speaker's name where that is the wording."""
    pattern = re.compile(rf"(?<!\w){re.escape(plain(wording))}(?!\w)")
    found = [Span(m.start(), m.end()) for m in pattern.finditer(plain(passage.text))]
    if not found and passage.speaker and plain(passage.speaker) in _WORD.findall(plain(wording)):
        return [Span(0, len(passage.speaker), of_text=False)]
    return found


def _likeness(dialogue: Dialogue, number: int, question: Question) -> float:
    text = plain(dialogue.messages[number - 1].text)
    shared = set(_WORD.findall(plain(question.text))) & set(_WORD.findall(text))
    return sum(len(word) > 3 for word in shared) + 2 * sum(plain(value) in text for value in question.stale)


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
        passage = passage_of(dialogue, n, rank=number - n if n != at else 0)
        answers = tuple(spans_of(passage, referent)) if n == at else ()
        passages.append(Labelled(passage, answers, bool(answers) if n == at else None))
    return Example(dialogue.id, "read", asked, tuple(passages), kind=KINDS.index("span"))
