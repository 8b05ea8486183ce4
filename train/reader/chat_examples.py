"""Examples of long chats: questions over the passages that a search finds, and changes.

The passages that search ranks high without answering are the hard negatives. A question whose evidence search doesn't
find is unanswerable from its passages, as it is in use.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nscma_torch.reading.reader_input import InputPassage, asked_by
from train.reader.dialogue_examples import (
    change_examples,
    kind_of,
    labelled,
    of_another,
    passage_of,
)
from train.reader.dialogue_text import Dialogue, Question
from train.reader.examples import Example, Labelled
from train.reader.searched_passages import Searched

FEWER = 0.5  # share of questions that are asked of fewer passages than search finds
FOUND = 0.7  # share of questions without their evidence among the passages to which it is added
WITHOUT_EVIDENCE = 0.15  # share of questions whose evidence is removed
OF_ANOTHER = 0.3  # share of questions that are also asked of a speaker of whom it was not told


def chat_examples(chat: Dialogue, searched: Sequence[Searched], rng: random.Random) -> Iterator[Example]:
    """Yield all examples of a chat; `searched` has the passages for each of its questions."""
    for question, found in zip(chat.questions, searched, strict=True):
        example = searched_example(chat, question, found, rng)
        if example is not None:
            yield example
        if rng.random() < OF_ANOTHER and (other := of_another(chat, question, rng)) is not None:
            yield other
    yield from change_examples(chat, rng)


def searched_example(chat: Dialogue, question: Question, found: Searched, rng: random.Random | None) -> Example | None:
    """Build a question over what a search found; with `rng`, add or remove evidence and drop other passages.

    Returns None if no passage is left, or only part of the evidence, so that it isn't known whether they answer.
    """
    chosen = dict(zip(found.numbers, found.passages, strict=True))
    needed = {number for number, _ in question.said} or set(question.evidence)
    if rng is not None and question.gold:
        if rng.random() < WITHOUT_EVIDENCE and question.type in ("single", "current", "past", "when"):
            chosen = _without(chat, question, chosen)
        elif not needed <= chosen.keys() and rng.random() < FOUND:
            for number in set(question.evidence) - chosen.keys():
                chosen[number] = passage_of(chat, number)
    if rng is not None and rng.random() < FEWER:
        kept = rng.randint(2, 8)
        chosen = {
            number: passage for number, passage in chosen.items() if number in question.evidence or passage.rank < kept
        }
    chosen = {
        number: replace(passage, context=passage.context and number not in question.evidence)
        for number, passage in sorted(chosen.items())
    }
    answered = bool(question.gold) and needed <= chosen.keys()
    if not chosen or (question.gold and not answered and set(question.evidence) & chosen.keys()):
        return None
    passages = tuple(labelled(passage, question, n) if answered else Labelled(passage) for n, passage in chosen.items())
    kind = kind_of(question) if answered else None
    return Example(chat.id, "read", asked_by(chat.messages[0].speaker, question.text), passages, kind=kind)


def _without(chat: Dialogue, question: Question, chosen: dict[int, InputPassage]) -> dict[int, InputPassage]:
    """Remove the evidence, and every message that names an answer or an outdated value."""
    wordings = [*(w for member in question.gold for w in member), *question.stale, *(w for _, w in question.said)]
    return {
        number: passage
        for number, passage in chosen.items()
        if number not in question.evidence and not any(chat.says(number, wording) for wording in wordings)
    }
