"""Parse a chat request's user turns, and add blocks to them while leaving the rest of the body unchanged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.server.proxy.chores import is_chore, is_task
from nscma_torch.server.proxy.dialects import Dialect
from nscma_torch.server.proxy.json_places import JsonSpan, elements, members
from nscma_torch.text.files.json_messages import check_message, parse_message


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The newest user turn.

    Attributes:
        text: the turn's texts, used as the recall query.
        said: the stored form: an image becomes "[image_url]"; empty if it cannot be stored.
        name: the speaker, if the message names one.
        context: the texts of all messages up to and including the turn.
        digest: the hash of all messages up to and including the turn, in hex; equal for all requests in one exchange.
        followed: True if other messages follow the turn, such as tool calls and their results.
        fault: the reason why the turn cannot be stored; None if it can be.
        session: the conversation's name: the same for all requests with the same first user turn.
        earlier: digests of the user turns before it.
        chore: True if the turn is a request by the chat client itself, such as for a title, rather than the user's
            words.
    """

    text: str
    said: str
    name: str | None
    context: str
    digest: str
    session: str
    followed: bool = False
    fault: InvalidInputError | None = None
    earlier: tuple[str, ...] = ()
    chore: bool = False


@dataclass(frozen=True, slots=True)
class _End:
    """Insertion point for a block: the end of a turn's text or of its list of parts.

    Attributes:
        at: its place, in characters.
        part: type of an additional part; empty for a text.
        empty: whether the list is empty.
    """

    at: int
    part: str
    empty: bool

    def written(self, block: str) -> str:
        """Format a block for insertion at this point."""
        if self.part:
            return ("" if self.empty else ", ") + json.dumps({"type": self.part, "text": block})
        return json.dumps(f"\n\n{block}")[1:-1]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request body as received.

    Attributes:
        user: the user that it names, else None.
        turn: the newest user turn; None if the body isn't a chat request or has no user turn.
    """

    body: bytes
    user: str | None = None
    turn: UserTurn | None = None
    _ends: Mapping[str, _End] = field(default_factory=dict)  # of its user turns, by digest

    @classmethod
    def read(cls, body: bytes, dialect: Dialect) -> ChatRequest:
        """Parse as much of a body as possible. Errors in it are left for the model's server to report."""
        try:
            text = body.decode()
            value = json.loads(text)
            if not isinstance(value, dict):
                return cls(body)
            user = dialect.user(value)
            named = user if isinstance(user, str) and user else None
            return cls._of_messages(body, text, named, dialect)
        except (ValueError, RecursionError):  # not UTF-8, not JSON, numbers of thousands of digits, thousands of [
            return cls(body)

    @classmethod
    def _of_messages(cls, body: bytes, text: str, user: str | None, dialect: Dialect) -> ChatRequest:
        top = members(text, text.index("{"))
        listed = top.get(dialect.listed)
        if listed is None:
            return cls(body, user)
        places = _places(text, listed, text_alone=dialect.text_alone)
        messages = [message for message, _ in places]
        turns = [number for number, message in enumerate(messages) if dialect.is_turn(message)]
        if not turns:
            return cls(body, user)
        digests = dict(zip(turns, _digests(messages, turns), strict=True))
        ends = {
            digests[number]: end for number in turns if (end := _end(places[number][1], dialect.text_type)) is not None
        }
        newest = turns[-1]
        if digests[newest] not in ends:
            return cls(body, user)
        turn = replace(
            _turn(messages[: newest + 1], messages[turns[0]], digests[newest]),
            followed=newest + 1 < len(messages),
            earlier=tuple(digests[number] for number in turns[:-1]),
            chore=_is_chore(messages[: newest + 1], top.get("metadata")),
        )
        return cls(body, user, turn, ends)

    def with_blocks(self, blocks: Mapping[str, str]) -> bytes:
        """Return the body with blocks added at the end of user turns, appended to the text or as an additional part.

        `blocks` maps the digests of user turns to their blocks.
        """
        added = sorted(((self._ends[digest], block) for digest, block in blocks.items() if block), key=_place)
        if not added:
            return self.body
        text, pieces, start = self.body.decode(), [], 0
        for end, block in added:
            pieces += [text[start : end.at], end.written(block)]
            start = end.at
        return "".join([*pieces, text[start:]]).encode()


def _place(one: tuple[_End, str]) -> int:
    return one[0].at


def _places(text: str, listed: JsonSpan, *, text_alone: bool) -> list[tuple[Any, JsonSpan | None]]:
    """Return each message with the place of its content. With `text_alone` a text is a message by the user."""
    if text_alone and isinstance(listed.value, str):
        return [({"role": "user", "content": listed.value}, listed)]
    if not isinstance(listed.value, list):
        return []
    return [
        (one.value, members(text, one.start).get("content") if isinstance(one.value, dict) else None)
        for one in elements(text, listed.start)
    ]


def _end(content: JsonSpan | None, text_type: str) -> _End | None:
    """Return the end of a message's content, or None if the content is neither a text nor a list."""
    if content is None or not isinstance(content.value, str | list):
        return None
    return _End(content.end - 1, text_type if isinstance(content.value, list) else "", content.value == [])


def _digests(messages: Sequence[Any], turns: Sequence[int]) -> Iterator[str]:
    """Yield, for each of these user turns, the digest of all messages up to it, in hex."""
    running, wanted = hashlib.sha256(b"["), set(turns)
    for number, message in enumerate(messages):
        running.update((", " if number else "").encode() + _written(message))
        if number in wanted:
            whole = running.copy()
            whole.update(b"]")
            yield whole.hexdigest()


def _written(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _is_chore(messages: Sequence[Any], metadata: JsonSpan | None) -> bool:
    first = messages[0] if len(messages) > 1 and isinstance(messages[0], dict) else {}
    return is_chore(_text(messages[-1]), _text(first)) or (metadata is not None and is_task(metadata.value))


def _turn(messages: Sequence[Any], first: dict[str, Any], digest: str) -> UserTurn:
    newest = messages[-1]
    name = newest.get("name")
    said, fault = _said(newest)
    return UserTurn(
        text=_text(newest),
        said=said,
        name=name if isinstance(name, str) and name.strip() else None,
        context="\n".join(_text(message) for message in messages if isinstance(message, dict)),
        digest=digest,
        session=f"chat {hashlib.sha256(_written(first.get('content'))).hexdigest()[:16]}",
        fault=fault,
    )


def _text(message: dict[str, Any]) -> str:
    """Return the texts of a message, one per line."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(message: dict[str, Any]) -> tuple[str, InvalidInputError | None]:
    """Return the message text in its stored form, with the error if it can't be stored."""
    try:
        said = parse_message({"role": "user", "content": message["content"]})
        check_message(said)
    except InvalidInputError as error:
        return "", error
    return said.content, None
