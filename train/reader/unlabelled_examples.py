"""Questions about exchanges without labels: what a student learns from them is what its teacher makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from nscma_torch.text.terms import terms
from train.reader.examples import Example, Labelled
from train.reader.exchange_examples import read_turns
from train.reader.exchange_text import Exchange
from train.reader.labelled_questions import LabelledQuestion

DRAWN = (
    40  # questions, of which the one that shares most words with an exchange is asked, so that it is on a near topic
)


def unlabelled_examples(
    exchanges: Sequence[Exchange], questions: Sequence[LabelledQuestion], rng: random.Random
) -> Iterator[Example]:
    """A question about each exchange, asked of the whole of it."""
    words = [frozenset(terms(question.text)) for question in questions]
    for exchange in exchanges:
        told = frozenset(term for message in exchange.messages for term in terms(message.text))
        drawn = rng.sample(range(len(questions)), min(DRAWN, len(questions)))
        asked = questions[max(drawn, key=lambda i: (len(words[i] & told), -i))]
        passages = read_turns(exchange, len(exchange.messages), len(exchange.messages))
        yield Example(
            f"unlabelled/{exchange.id}",
            "read",
            asked.text,
            tuple(Labelled(labelled.passage, (), None) for labelled in passages),
        )
