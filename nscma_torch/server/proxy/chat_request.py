"""A request for a chat completion: its newest user turn, and the body with a block added to that turn alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nscma_torch.errors import InvalidInputError
from nscma_torch.server.proxy.json_places import elements, members
from nscma_torch.text.json_messages import parse_message


@dataclass(frozen=True, slots=True)
class Turn:
    """The newest user turn.

    Attributes:
        text: its texts; what recall looks for.
        said: as it is stored: an image leaves "[image_url]"; empty if it cannot be stored.
        name: who says it, where the message names somebody.
        context: the texts of all messages before it and of itself.
        digest: of all messages up to it, in hex; equal for all requests of one exchange.
        followed: whether messages follow it, as calls of tools and their results do.
        fault: why it cannot be stored; None if it can.
        session: names the conversation: the same for all requests with the same first user turn.
    """

    text: str
    said: str
    name: str | None
    context: str
    digest: str
    session: str
    followed: bool = False
    fault: InvalidInputError | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A body as it came.

    Attributes:
        user: the field `user`, where it is a string.
        turn: None for a body that is no request for a chat completion, or has no user turn.
    """

    body: bytes
    user: str | None = None
    turn: Turn | None = None
    _place: int = 0  # where a block goes, in characters
    _parts: bool = False  # whether the turn is a list of parts
    _first: bool = False  # whether that list is empty

    @classmethod
    def read(cls, body: bytes) -> ChatRequest:
        """What can be read of a body; what is wrong with it is for the model's server to say."""
        try:
            text = body.decode()
            value = json.loads(text)
            if not isinstance(value, dict):
                return cls(body)
            user = value.get("user")
            named = user if isinstance(user, str) and user else None
            return cls._of_messages(body, text, named)
        except (ValueError, RecursionError):  # not UTF-8, not JSON, numbers of thousands of digits, thousands of [
            return cls(body)

    @classmethod
    def _of_messages(cls, body: bytes, text: str, user: str | None) -> ChatRequest:
        listed = members(text, text.index("{")).get("messages")
        if listed is None or not isinstance(listed.value, list):
            return cls(body, user)
        places = list(elements(text, listed.start))
        messages = [place.value for place in places]
        turns = [number for number, message in enumerate(messages) if _is_user(message)]
        if not turns:
            return cls(body, user)
        newest = turns[-1]
        content = members(text, places[newest].start).get("content")
        if content is None or not isinstance(content.value, str | list):
            return cls(body, user)
        turn = _turn(messages[: newest + 1], messages[turns[0]], followed=newest + 1 < len(messages))
        return cls(body, user, turn, content.end - 1, isinstance(content.value, list), content.value == [])

    def with_block(self, block: str) -> bytes:
        """The body with a block at the end of the newest user turn: the text goes on, or there is one more part."""
        if not block or self.turn is None:
            return self.body
        if self._parts:
            added = ("" if self._first else ", ") + json.dumps({"type": "text", "text": block})
        else:
            added = json.dumps(f"\n\n{block}")[1:-1]
        text = self.body.decode()
        return (text[: self._place] + added + text[self._place :]).encode()


def _is_user(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"


def _turn(messages: Sequence[Any], first: dict[str, Any], *, followed: bool) -> Turn:
    newest = messages[-1]
    name = newest.get("name")
    said, fault = _said(newest)
    return Turn(
        text=_text(newest),
        said=said,
        name=name if isinstance(name, str) and name.strip() else None,
        context="\n".join(_text(message) for message in messages if isinstance(message, dict)),
        digest=_digest(messages),
        session=f"chat {_digest(first.get('content'))[:16]}",
        followed=followed,
        fault=fault,
    )


def _text(message: dict[str, Any]) -> str:
    """The texts of a message, a line each."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(message: dict[str, Any]) -> tuple[str, InvalidInputError | None]:
    """The message as the memory stores it, or why it cannot."""
    try:
        return parse_message({"role": "user", "content": message["content"]}).content, None
    except InvalidInputError as error:
        return "", error


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
