"""Show a reply while it is written, extracted from the JSON around it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from nscma_torch.controller.uncertainty import value_start
from nscma_torch.core.errors import EngineError, ReplyError
from nscma_torch.llm.engines.contract import Reply, Request, StreamingEngine, Token
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine

_ESCAPE = 12  # characters of the longest JSON escape, a surrogate pair


class ShowingEngine(WrappedEngine):
    """A `LanguageEngine` that streams from another engine and shows the draft or reply as it is generated.

    Args:
        show: called for each new piece with the whole value so far. An unusable draft or reply is followed by another
            one, which starts over.
    """

    def __init__(self, engine: StreamingEngine, show: Callable[[str], None]) -> None:
        super().__init__(engine)
        self._streaming = engine
        self._show = show

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Process the requests one after another; return one result for each."""
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply | EngineError:
        tokens: list[Token] = []
        text, shown = "", ""
        try:
            (prompt,) = self.count_tokens([request.turns])
            for token in self._streaming.stream(request):
                tokens.append(token)
                text += token.text
                value = written(text, "text") or written(text, "short_answer")
                if value != shown:
                    self._show(value)
                    shown = value
        except EngineError as error:
            return error
        if not tokens:
            return ReplyError("the stream ended without a token")
        finished = len(tokens) < request.max_tokens
        return Reply(text, prompt, len(tokens), finished, tuple(tokens) if request.logprobs else ())


def written(text: str, key: str) -> str:
    """Return the part of the string under `key` that an incomplete JSON text contains; "" if the string
    hasn't begun.
    """
    start = value_start(text, key)
    if start is None:
        return ""
    part = text[start:]
    for end in range(len(part), max(len(part) - _ESCAPE, 0) - 1, -1):
        try:
            value, _ = json.JSONDecoder().raw_decode(f'"{part[:end]}"')
        except json.JSONDecodeError:
            continue
        if isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value[-1:]):
            return value
    return ""
