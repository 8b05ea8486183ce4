"""Measure a model's uncertainty about its output, over the tokens of one value, excluding the JSON around it."""

from __future__ import annotations

import math
import re
from itertools import pairwise

from nscma_torch.llm.engines.contract import Reply

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')
_OPENED = re.compile(r'\s*"')


def value_span(text: str, key: str) -> tuple[int, int] | None:
    """Return the start and end of the string under `key` in a JSON text, without quotation marks; None if absent."""
    strings = list(_STRING.finditer(text))
    for name, value in pairwise(strings):
        if name[2] and name[1] == key and not value[2] and not text[name.end() : value.start()].strip():
            return value.start(1), value.end(1)
    return None


def value_start(text: str, key: str) -> int | None:
    """Return the start of the string under `key`, even in truncated JSON."""
    for name in _STRING.finditer(text):
        opened = _OPENED.match(text, name.end())
        if name[2] and name[1] == key and opened:
            return opened.end()
    return None


def uncertainty(reply: Reply, key: str) -> float:
    """Return 1 - exp(mean log-probability), in [0, 1], over the tokens that contain a character of the value under
    `key`.

    Returns 1 if the value is missing or empty, or if the reply has no log-probabilities.
    """
    span = value_span(reply.text, key)
    if span is None or span[0] == span[1]:
        return 1.0
    start, logprobs = 0, []
    for token in reply.tokens:
        end = start + len(token.text)
        if start < span[1] and end > span[0] and token.text:
            logprobs.append(min(token.logprob, 0.0))
        start = end
    return 1.0 - math.exp(sum(logprobs) / len(logprobs)) if logprobs else 1.0
