"""Examples for the proposer: messages as rows of tokens, with the tokens of every fact that they state.

Of exchanges all facts of the schema are labelled, and of those in which every statement is, all open ones too; what has
no label there is a negative. Of the messages of dialogues some statements are labelled, in predicates of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nscma_torch.reading.fact_proposer import ASKED
from nscma_torch.reading.reader_input import InputPassage, InputRow, Packer
from nscma_torch.reading.reader_model import STANCES
from train.reader.dialogue_examples import spans_of, with_turns_before
from train.reader.dialogue_text import Dialogue
from train.reader.examples import Span
from train.reader.exchange_examples import BEFORE, NAMELESS, first_named, nameless, read_turns, subject_wordings
from train.reader.exchange_text import Exchange, LabelledFact

Tokens = tuple[int, int]  # first and last


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with its tokens: of its object, of whom it is said of, and of its topic, each as often as it stands there.

    `open` facts have a predicate of their own as `relation`, and its tokens as `topic`.
    """

    relation: str
    open: bool
    objects: tuple[Tokens, ...]
    subjects: tuple[Tokens, ...]
    topics: tuple[Tokens, ...]
    stance: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a row. `facts` has all of the schema where `schema_known`, and all open ones where `open_known`."""

    row: InputRow
    facts: tuple[Fact, ...]
    schema_known: bool
    open_known: bool


def of_exchange(exchange: Exchange, packer: Packer, rng: random.Random, *, open_known: bool) -> Iterator[Message]:
    """The messages of an exchange, each after a number of turns that is drawn."""
    if rng.random() < NAMELESS:
        exchange = nameless(exchange)
    for number in range(1, len(exchange.messages) + 1):
        passages = [one.passage for one in read_turns(exchange, number, rng.choice(BEFORE))]
        own = [fact for fact in exchange.facts if fact.number == number]
        yield _message(packer, passages, own, schema_known=True, open_known=open_known)


def of_dialogue(dialogue: Dialogue, packer: Packer) -> Iterator[Message]:
    """The messages of a dialogue of which statements are labelled, after the turns before them."""
    for number in sorted({statement.number for statement in dialogue.statements}):
        own = [
            LabelledFact(number, told.predicate, told.subject, told.object, told.stance, open=True)
            for told in dialogue.statements
            if told.number == number
        ]
        passages = [one.passage for one in with_turns_before(dialogue, number)]
        message = _message(packer, passages, own, schema_known=False, open_known=False)
        if message.facts:
            yield message


def _message(
    packer: Packer,
    passages: Sequence[InputPassage],
    labels: Iterable[LabelledFact],
    *,
    schema_known: bool,
    open_known: bool,
) -> Message:
    row = packer.rows(ASKED, passages)[0]
    facts = [fact for label in labels if (fact := _fact(row, passages, label)) is not None]
    return Message(row, tuple(facts), schema_known, open_known)


def _fact(row: InputRow, passages: Sequence[InputPassage], label: LabelledFact) -> Fact | None:
    """A label in tokens; None where its object does not stand in what is read."""
    objects = _nearest(row, passages, label.object)
    if not objects:
        return None
    *before, own = passages
    named = first_named([own, *reversed(before)], subject_wordings(label.subject))
    subjects = [tokens for i, one in enumerate(passages) for tokens in _tokens(row, i, named.get(id(one), ()))]
    topics = _nearest(row, passages, label.relation if label.open else label.topic)
    stance = STANCES.index(label.stance)
    return Fact(label.relation, label.open, tuple(objects), tuple(subjects), tuple(topics), stance)


def _nearest(row: InputRow, passages: Sequence[InputPassage], wording: str) -> list[Tokens]:
    """The tokens of a wording in the message, or in the nearest turn before that has it."""
    for place in range(len(passages) - 1, -1, -1) if wording else ():
        own = place == len(passages) - 1
        spans = [span for span in spans_of(passages[place], wording) if span.of_text or not own]
        if found := _tokens(row, place, spans):
            return found
    return []


def _tokens(row: InputRow, passage: int, spans: Iterable[Span]) -> list[Tokens]:
    found = (row.tokens_of(passage, span.start, span.end, of_text=span.of_text) for span in spans)
    return [tokens for tokens in found if tokens is not None]
