"""Examples of what a later message takes away from earlier ones, and of what one message rests on.

Most examples are a pair of messages with one of `CHANGES`. In a group, the earlier messages that a later one doesn't
change are hard negatives; in a history, most messages have nothing to do with each other. Negatives are drawn.
Questions of histories are read together with all of their evidence: what was told and has lost its ground, or was told
of something else, is no answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from nscma_torch.reading.reader_input import InputPassage, asked_by
from nscma_torch.reading.reader_model import CHANGES
from train.reader.dialogue_examples import nearest, passage_of, question_example
from train.reader.dialogue_text import Dialogue, Question
from train.reader.examples import Example, Labelled
from train.reader.state_files import StateGroup

OF_GROUP = 4  # negatives drawn for each later message of a group
CHANGING, OTHERS = 4, 1  # the same in a history, for a later message that changes something, and for one that doesn't
UNRELATED = 2  # pairs in which neither message rests on the other, for each that does
_FIRST = datetime(2024, 1, 1, tzinfo=UTC)


def state_examples(group: StateGroup, rng: random.Random) -> Iterator[Example]:
    """Yield an example for each labelled pair of a group, and for pairs that aren't related."""
    at = _FIRST + timedelta(hours=rng.randrange(24 * 900))
    for later in group.later:
        said = later.said if later.said.said_at is not None else replace(later.said, said_at=at)
        for place, kind in later.effects.items():
            yield _pair(group, place, said, kind)
        free = [place for place in range(later.before) if place not in later.effects]
        most = OF_GROUP
        if group.asked is not None:
            own = {place for pair in group.rests for place in pair if later.before in pair}
            free = [place for place in free if place not in own]
            most = CHANGING if later.effects else OTHERS
        for place in rng.sample(free, min(len(free), most)):
            yield _pair(group, place, said, "none")
    yield from _resting(group, at, rng)
    if group.asked is not None:
        for question in group.asked.questions:
            yield _asked(group.asked, question, rng)


def _resting(group: StateGroup, at: datetime, rng: random.Random) -> Iterator[Example]:
    """Yield the pairs in which one message rests on the other, and some in which none does.

    What rests on something is read as the later message of the two, whichever was said first.
    """
    changed = {(place, later.before) for later in group.later for place in later.effects}
    related = {*group.rests, *((b, a) for a, b in group.rests), *changed, *((b, a) for a, b in changed)}
    speaker = group.earlier[0].speaker
    own = [place for place, said in enumerate(group.earlier) if said.speaker == speaker]
    free = [(a, b) for a in own for b in own if a != b and (a, b) not in related]
    drawn = rng.sample(free, min(len(free), UNRELATED * len(group.rests)))
    for a, b, kind in (*((a, b, "rests") for a, b in group.rests), *((a, b, "none") for a, b in drawn)):
        said = group.earlier[a]
        yield _pair(group, b, said if said.said_at is not None else replace(said, said_at=at), kind)


def _asked(dialogue: Dialogue, question: Question, rng: random.Random) -> Example:
    """Read a question over its evidence and some of the messages most like it."""
    if question.gold:
        return question_example(dialogue, question, rng)
    chosen = {*question.evidence, *nearest(dialogue, question, rng)}
    passages = tuple(Labelled(passage_of(dialogue, number)) for number in sorted(chosen))
    return Example(dialogue.id, "read", asked_by(dialogue.messages[0].speaker, question.text), passages)


def _pair(group: StateGroup, place: int, later: InputPassage, kind: str) -> Example:
    earlier = group.earlier[place]
    text = f"{earlier.speaker}: {earlier.text}"
    return Example(group.source, "change", text, (Labelled(later, holds=None),), label=CHANGES.index(kind))
