"""The interfaces in which chat clients talk to a model's server: OpenAI's Chat Completions and Responses, and
Anthropic's Messages. A dialect says where a request's user turns are, what the reply's text is, and how a stream ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_REASONING = ("thinking", "reasoning", "redacted_thinking")  # types of parts


@dataclass(frozen=True, slots=True)
class SaidPart:
    """The text of a whole answer, or of an event of its stream. `odd`: there is content, but no text."""

    text: str = ""
    odd: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """One interface.

    Attributes:
        operation: the id of the endpoint.
        route: where clients request it here.
        path: where the model's server has it.
        listed: the member of a request with its messages.
        text_type: type of an additional text part.
        text_alone: whether a text may stand for the list, as a message by the user.
        is_turn: whether a message is a user turn.
        user: the user that a request names, or None.
        whole: what a whole answer says; None if it is no answer of this dialect.
        event: what an event of a stream adds to the reply.
        ends: beginnings of the line from which a stream's end is held back.
    """

    operation: str
    route: str
    path: str
    listed: str
    text_type: str
    is_turn: Callable[[Any], bool]
    user: Callable[[Mapping[str, Any]], Any]
    whole: Callable[[Any], SaidPart | None]
    event: Callable[[Any], SaidPart]
    ends: tuple[bytes, ...]
    text_alone: bool = False


def _is_user(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"


def _is_words(message: Any) -> bool:
    """Return True for a user message with a part that is no result of a tool."""
    return _is_user(message) and not any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in _listed(message.get("content"))
    )


def _choice(answer: Any) -> dict[str, Any]:
    """Return the first choice in a chat completion or in a piece of one."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    listed = choices if isinstance(choices, list) else ()
    return next((one for one in listed if isinstance(one, dict) and one.get("index", 0) == 0), {})


def _completed(answer: Any) -> SaidPart | None:
    choice = _choice(answer)
    return _said(_content(choice.get("message")), "\n") if choice else None


def _completion_piece(event: Any) -> SaidPart:
    return _said(_content(_choice(event).get("delta")), "")


def _content(message: Any) -> Any:
    """Return the content of a message or of a piece of a message; if it has none, return its refusal."""
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    return message.get("refusal") if content is None else content


def _responded(answer: Any) -> SaidPart | None:
    items = answer.get("output") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        return None
    messages = [item for item in items if isinstance(item, dict) and item.get("type") == "message"]
    parts = [part for message in messages for part in _listed(message.get("content"))]
    return _said(parts, "\n")


def _response_event(event: Any) -> SaidPart:
    kind = event.get("type") if isinstance(event, dict) else None
    if kind not in ("response.output_text.delta", "response.refusal.delta"):
        return SaidPart()
    return _said(event.get("delta"), "")


def _answered(answer: Any) -> SaidPart | None:
    content = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(content, list):
        return None
    return _said([part for part in content if not (isinstance(part, dict) and part.get("type") == "tool_use")], "\n")


def _message_event(event: Any) -> SaidPart:
    kind = event.get("type") if isinstance(event, dict) else None
    delta = event.get("delta") if kind == "content_block_delta" else None
    is_text = isinstance(delta, dict) and delta.get("type") == "text_delta"
    return _said(delta.get("text"), "") if isinstance(delta, dict) and is_text else SaidPart()


def _said(content: Any, between: str) -> SaidPart:
    """Return the texts of a content, without reasoning. The texts of a list of parts are joined by `between`."""
    parts = [part for part in _listed(content) if not _is_reasoning(part)]
    texts = (part.get("text", part.get("refusal")) if isinstance(part, dict) else part for part in parts)
    text = between.join(text for text in texts if isinstance(text, str))
    return SaidPart(text, any(parts) and not text)


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _REASONING


def _metadata_user(request: Mapping[str, Any]) -> Any:
    metadata = request.get("metadata")
    return metadata.get("user_id") if isinstance(metadata, dict) else None


CHAT_COMPLETIONS = Dialect(
    operation="chat_completions",
    route="/v1/chat/completions",
    path="/v1/chat/completions",
    listed="messages",
    text_type="text",
    is_turn=_is_user,
    user=lambda request: request.get("user"),
    whole=_completed,
    event=_completion_piece,
    ends=(b"data: [DONE]", b"data:[DONE]"),
)
RESPONSES = Dialect(
    operation="responses",
    route="/v1/responses",
    path="/v1/responses",
    listed="input",
    text_type="input_text",
    is_turn=_is_user,
    user=lambda request: request.get("user"),
    whole=_responded,
    event=_response_event,
    ends=(b"event: response.completed", b"event: response.incomplete", b"event: response.failed", b"data: [DONE]"),
    text_alone=True,
)
ANTHROPIC = Dialect(
    operation="anthropic_messages",
    route="/anthropic/v1/messages",  # /v1/messages adds messages to the memory
    path="/v1/messages",
    listed="messages",
    text_type="text",
    is_turn=_is_words,
    user=_metadata_user,
    whole=_answered,
    event=_message_event,
    ends=(b"event: message_stop",),
)
DIALECTS = (CHAT_COMPLETIONS, RESPONSES, ANTHROPIC)
