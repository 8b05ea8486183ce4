"""Plain vector retrieval that takes the newest: what a store without facts can tell of what holds now.

It is right when a value that holds occurs in its message and, for a relation of many values, none that does not; where
nothing holds, when it is the message that said so. A question about the past is put to the messages until then.
Questions among the messages, which are nearest to questions, are left out. No answer has to be made of the message, so
this is more than such a store delivers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from eval.tasks.update_chains import Chain
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Message

NEAREST = 3


@dataclass(frozen=True)
class Reading:
    """Whether the newest of the nearest messages is right, and the nearest one."""

    newest: bool
    nearest: bool


def readings(chain: Chain, embedder: Embedder) -> tuple[Reading, Reading]:
    """For the value now, and the one at the past time."""
    said = [message for message in (*chain.messages, *chain.late) if not message.content.endswith("?")]
    messages = sorted(said, key=_said_at)
    until = [message for message in messages if _said_at(message) <= chain.past_at.timestamp()]
    return _reading(chain, messages, chain.current, embedder), _reading(chain, until, chain.past, embedder)


def _reading(chain: Chain, messages: Sequence[Message], holds: Collection[str], embedder: Embedder) -> Reading:
    """`messages` by date."""
    texts = [f"{message.name}: {message.content}" if message.name else message.content for message in messages]
    scores = embedder.embed(texts) @ embedder.embed_query(chain.question)
    near = [int(i) for i in scores.argsort(descending=True, stable=True)[:NEAREST]]
    newest, nearest = (messages[place].content for place in (max(near), near[0]))
    return Reading(_right(newest, chain, holds), _right(nearest, chain, holds))


def _right(text: str, chain: Chain, holds: Collection[str]) -> bool:
    if not holds:
        return text == chain.said[-1]
    others = set(chain.values) - set(holds) if chain.relation.cardinality == "many" else ()
    return any(_occurs(value, text) for value in holds) and not any(_occurs(value, text) for value in others)


def _occurs(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _said_at(message: Message) -> float:
    assert message.timestamp is not None
    return message.timestamp.timestamp()
