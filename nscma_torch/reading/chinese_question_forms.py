"""Compile the notation for Chinese questions in `configs/relations.toml` (`zh.asks`).

A form is a sequence of tokens that is matched against a whole question. Spaces between tokens are ignored:

- `S`, `O`, `T`: subject, object and topic, as short as they can be; `S's` the subject as an owner, with or without 的;
- `NOUN`: a noun of some relation; `WH`: a question word that fits what the noun names (谁 for a person, …);
- `(a|b)` alternatives, `[x]` an option, both may nest; all else is itself.

Each slot occurs at most once.

A prefix with a colon gives what the form asks for: `object`, `subject`, `whether`, `when`, `giver`, `receiver` or
`thing` (see `records.FactQuery`), optionally with `count`, `previous` or `named`. Without a prefix, a form that ends in
吗 or has both `S` and `O` is a yes-or-no question, a form with only `O` asks for the subject, and any other form asks
for the object. A suffix ` > r` continues along relation r.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from nscma_torch.core.errors import ConfigError

Asks = Literal["object", "subject", "whether", "when", "giver", "receiver", "thing"]

_TOKEN = re.compile(r"[()|\[\]]|S's|NOUN|WH|[SOT]|[^\s()|\[\]SOTNW]+")
_BESIDE = ("count", "previous", "named")  # in the order of `ChineseQuestionForm`
_HEAD = re.compile(r"(?P<head>[a-z]+(?: [a-z]+)*)\s*:\s*(?P<body>.+)")
_SLOTS = ("S", "O", "T")
_OPEN, _CLOSE = "([", ")]"


@dataclass(frozen=True)
class ChineseQuestionForm:
    """A form, compiled on first use. `relation` is "" for a form that contains `NOUN`."""

    source: str
    relation: str
    path: tuple[str, ...]
    asks: Asks
    count: bool
    previous: bool
    named: bool
    tokens: tuple[str, ...]
    nouns: str  # a pattern of all nouns

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the regular expression that matches a whole question."""
        return re.compile("".join(map(self._emit, self.tokens)), re.IGNORECASE)

    def _emit(self, token: str) -> str:
        if token in "()|[]":
            return {"(": "(?:", "[": "(?:", "]": ")?"}.get(token, token)
        if token == "S's":
            return "(?P<S>.+?)的?"
        if token in _SLOTS:
            return f"(?P<{token}>.+?)"
        if token == "NOUN":
            return f"(?P<noun>{self.nouns})"
        if token == "WH":
            return "(?P<wh>什么|谁|哪里|哪儿|哪|哪天|几号)"
        return re.escape(token)


def compile_form(source: str, relation: str, nouns: str) -> ChineseQuestionForm:
    """Compile a form. Raises `ConfigError` if it is malformed."""
    head = _HEAD.fullmatch(source)
    body, *onward = [part.strip() for part in (head["body"] if head else source).split(">")]
    words = head["head"].split() if head else []
    tokens = tuple(_TOKEN.findall(body))
    asked = [word for word in words if word in get_args(Asks)]
    unknown = [word for word in words if word not in (*get_args(Asks), *_BESIDE)]
    slots = [token[0] for token in tokens if token in (*_SLOTS, "S's")]
    if unknown or len(asked) > 1 or len(slots) > len(set(slots)) or not _balanced(tokens):
        raise ConfigError(
            f"relation {relation!r}: cannot read the question form {source!r}; see reading.chinese_question_forms"
        )
    asks: Asks = asked[0] if asked else _default(tokens)  # type: ignore[assignment]
    path = (relation, *onward) if relation else ()
    count, previous, named = (word in words for word in _BESIDE)
    return ChineseQuestionForm(source, relation, path, asks, count, previous, named, tokens, nouns)


def _default(tokens: Sequence[str]) -> Asks:
    words = [token for token in tokens if token not in "()|[]"]
    subject, object_ = not {"S", "S's"}.isdisjoint(words), "O" in words
    if words[-1].endswith("吗") or (subject and object_):
        return "whether"
    return "subject" if object_ else "object"


def _balanced(tokens: Sequence[str]) -> bool:
    depth = 0
    for token in tokens:
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth < 0:
            return False
    return depth == 0 and bool(tokens)
