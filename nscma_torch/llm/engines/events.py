"""Read the server-sent events of a streamed chat completion: yield tokens as they arrive, validated like
whole replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import Field

from nscma_torch.core.errors import ReplyError
from nscma_torch.llm.engines.contract import Token
from nscma_torch.llm.engines.protocol_schemas import (
    LogProb,
    LogProbs,
    ReplyMessage,
    Shape,
    content_text,
    shaped,
    shown,
    spelled,
    without_logprobs,
)

_DONE = "[DONE]"


class StreamedChoice(Shape):
    """A piece of one reply. The delta is the text since the last event."""

    delta: ReplyMessage
    finish_reason: str | None = None
    logprobs: LogProbs | None = None


class StreamedChunk(Shape):
    """One event. The last events may contain only the usage, without a choice."""

    choices: tuple[StreamedChoice, ...] = Field(max_length=1)


def read_tokens(lines: Iterable[str], *, logprobs: bool, in_form: bool = False) -> Iterator[Token]:
    """Yield tokens from the lines of a response. Their log-probability is 0 if log-probabilities weren't requested.

    A reply in a form may also appear as reasoning. If there is no content, the reasoning is yielded as one token.

    Raises `ReplyError` if anything other than such events arrives or the stream ends before the reply does, and
    `EngineRefusedError` if requested log-probabilities are missing.
    """
    finished, waiting = "", list[LogProb]()
    thought: list[str] | None = [] if in_form and not logprobs else None
    for line in lines:
        if not line.startswith("data:"):
            continue  # blank lines and comments stand between events
        data = line.removeprefix("data:").strip()
        if data == _DONE:
            break
        for choice in shaped(data.encode(), StreamedChunk).choices:
            finished = choice.finish_reason or finished
            if choice.logprobs is not None:
                waiting += choice.logprobs.content or ()
            text = content_text(choice.delta.content)
            if text:
                thought = None
            elif thought is not None:
                thought.append(choice.delta.reasoning_content or choice.delta.reasoning or "")
            if text and logprobs:
                if not waiting:
                    raise without_logprobs()
                yield from spelled(text, waiting)
                waiting = []
            elif text:
                yield Token(text, 0.0)
    if finished not in {"stop", "length"}:
        raise ReplyError(f"the stream ended with finish_reason {shown(finished)}")
    if thought and any(thought):
        yield Token("".join(thought), 0.0)
