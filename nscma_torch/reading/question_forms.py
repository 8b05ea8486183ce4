"""The notation in which `configs/relations.toml` asks for a relation (`asks`), and its matching against questions.

A form is a row of tokens, matched from the first to the last word of a question, whatever the case:

- `S`, `O`, `T`: subject, object and topic, as short as they can be; `S's` the subject as an owner ("my", "Ben's"); `O!`
  an object of at most three words, only of those that its kind lists ("vegan", of a diet; English); `T!` a topic, only
  of the nouns that the relation tells `apart` ("car", of what is owned);
- `BE` is, are, am, was, were; `DO` do, does, did; `HAVE` have, has, had;
- `~live`: that verb in any inflection;
- `NOUN`: a noun of some relation, in the singular or the plural, `NOUN's` its possessive; `WH`: a question word that
  fits what the noun names (who for a person, where for a place, …);
- `(a|b)` alternatives, `[x]` an option, both may nest; all else is itself.

Each slot stands at most once.

Before the form may stand what it asks for, with a colon: `object`, `subject`, `whether`, `when`, `giver`, `receiver`,
`thing` (see `records.FactQuery`), and `count`, `previous` or `named` beside it: `subject count: how many things BE O
carrying`. Without it, a form that begins with BE, DO or HAVE or has both `S` and `O` asks whether, one with `O` alone
for the subject, others for the object. After the form, ` > r` walks on along relation r: `which country DO S ~live in
> part_of`.

A question inside a sentence is understood from the same form: "where DO S ~live" also matches "where I live", and
"who BE S's boss" matches "who my boss is", "BE S allergic to O" "whether I am allergic to
nuts". In Chinese tokens follow each other without spaces, `S's` is the owner with
or without 的, and a form that ends in 吗 asks whether.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from nscma_torch.errors import ConfigError
from nscma_torch.reading.inflection import forms as inflected

Asks = Literal["object", "subject", "whether", "when", "giver", "receiver", "thing"]

_TOKEN = re.compile(r"[()|\[\]]|[^\s()|\[\]]+")
_ZH_TOKEN = re.compile(r"[()|\[\]]|S's|NOUN|WH|[SOT]|[^\s()|\[\]SOTNW]+")
_BESIDE = ("count", "previous", "named")  # in the order of `QuestionForm`
_HEAD = re.compile(r"(?P<head>[a-z]+(?: [a-z]+)*)\s*:\s*(?P<body>.+)")
_CLASSES = {
    "BE": ("is", "are", "am", "was", "were"),
    "DO": ("do", "does", "did"),
    "HAVE": ("have", "has", "had"),
}
_OWNER = r"(?P<S>my|our|your|\S.*?(?:'s|s'))"
_SLOTS = ("S", "O", "O!", "T", "T!")
_LISTED_WORDS = 3  # words of an `O!`, at most
_OPEN, _CLOSE = "([", ")]"


@dataclass(frozen=True)
class QuestionForm:
    """One form, compiled when a question first needs it. `relation` is "" for a form of nouns."""

    source: str
    relation: str
    path: tuple[str, ...]
    asks: Asks
    count: bool
    previous: bool
    named: bool
    tokens: tuple[str, ...]
    nouns: str  # a pattern of all nouns
    chinese: bool = False

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """What a question matches from end to end; an English one begins with a space. Several for an `O!` of words."""
        emit = self._emit_chinese if self.chinese else self._emit
        source = "".join(map(emit, self.tokens))
        lengths = range(_LISTED_WORDS) if "O!" in self.tokens else range(1)
        return tuple(re.compile(source.replace("{n}", f"{{{n}}}"), re.IGNORECASE) for n in lengths)

    @cached_property
    def needed(self) -> tuple[frozenset[str], ...]:
        """Sets of words, of each of which a question must hold one before the pattern is worth trying."""
        return () if self.chinese else tuple(_needed(self.tokens))

    def _emit(self, token: str) -> str:
        if token in "()|[]":
            return {"(": "(?:", "[": "(?:", "]": ")?"}.get(token, token)
        if token in _CLASSES:
            return f" (?:{'|'.join(_CLASSES[token])})"
        if token in ("S", "O", "T", "T!"):
            return rf" (?P<{token[0]}>\S.*?)"
        if token == "O!":
            return r" (?P<O>\S+(?: \S+){n})"
        if token == "S's":
            return f" {_OWNER}"
        if token in ("NOUN", "NOUN's"):
            return rf" (?P<noun>{self.nouns}){token[4:]}"
        if token == "WH":
            return " (?P<wh>what|which|who|where|when)"
        if token.startswith("~"):
            return f" (?:{'|'.join(map(re.escape, inflected(token[1:])))})"
        return " " + re.escape(token)

    def _emit_chinese(self, token: str) -> str:
        if token in "()|[]":
            return {"(": "(?:", "[": "(?:", "]": ")?"}.get(token, token)
        if token == "S's":
            return "(?P<S>.+?)的?"
        if token in ("S", "O", "T"):
            return f"(?P<{token}>.+?)"
        if token == "NOUN":
            return f"(?P<noun>{self.nouns})"
        if token == "WH":
            return "(?P<wh>什么|谁|哪里|哪儿|哪|哪天|几号)"
        return re.escape(token)


def compile_form(source: str, relation: str, nouns: str, *, chinese: bool = False) -> list[QuestionForm]:
    """A form, and the one for the same question inside a sentence. Raises `ConfigError` for one that is malformed."""
    head = _HEAD.fullmatch(source)
    body, *onward = [part.strip() for part in (head["body"] if head else source).split(">")]
    words = head["head"].split() if head else []
    tokens = tuple((_ZH_TOKEN if chinese else _TOKEN).findall(body))
    asked = [word for word in words if word in get_args(Asks)]
    unknown = [word for word in words if word not in (*get_args(Asks), *_BESIDE)]
    slots = [token[0] for token in tokens if token in (*_SLOTS, "S's")]
    if unknown or len(asked) > 1 or len(slots) > len(set(slots)) or not _balanced(tokens):
        raise ConfigError(f"relation {relation!r}: cannot read the question form {source!r}; see llm.question_forms")

    def form(row: tuple[str, ...]) -> QuestionForm:
        asks: Asks = asked[0] if asked else _default(tokens)  # type: ignore[assignment]
        path = (relation, *onward) if relation else ()
        count, previous, named = (word in words for word in _BESIDE)
        return QuestionForm(source, relation, path, asks, count, previous, named, row, nouns, chinese)

    inside = None if chinese else _inside(tokens)
    return [form(tokens), *([form(inside)] if inside else [])]


def _default(tokens: Sequence[str]) -> Asks:
    words = [token for token in tokens if token not in "()|[]"]
    subject, object_ = not {"S", "S's"}.isdisjoint(words), not {"O", "O!"}.isdisjoint(words)
    if words[0] in _CLASSES or words[-1].endswith("吗") or (subject and object_):
        return "whether"
    return "subject" if object_ else "object"


def _balanced(tokens: Sequence[str]) -> bool:
    depth = 0
    for token in tokens:
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth < 0:
            return False
    return depth == 0 and bool(tokens)


def _inside(tokens: tuple[str, ...]) -> tuple[str, ...] | None:
    """The order of words inside a sentence: no DO, and BE behind what it asks about."""
    if "DO" in tokens:
        place = tokens.index("DO")
        return (*tokens[:place], *tokens[place + 1 :])
    if "BE" not in tokens[:-1]:
        return None
    place = tokens.index("BE")
    after = tokens[place + 1]
    if after in _SLOTS:
        return (*tokens[:place], after, "BE", *tokens[place + 2 :])
    return (*tokens[:place], *tokens[place + 1 :], "BE")


def _needed(tokens: Sequence[str]) -> Iterator[frozenset[str]]:
    """The words of each token that must be there; of alternatives those that they begin with, "" for any."""
    depth = 0
    first = False  # at the beginning of an alternative
    words: set[str] = set()
    for token in tokens:
        if token in _OPEN:
            if not depth:
                words = set()
            elif first:
                words.add("")
            depth += 1
            first = depth == 1
        elif token in _CLOSE:
            depth -= 1
            if not depth and token == ")":
                yield frozenset(words)
        elif token == "|":
            first = depth == 1
        elif not depth:
            yield _words(token) or frozenset({""})
        elif first:
            words |= _words(token) or {""}
            first = False


def _words(token: str) -> frozenset[str]:
    if token in _CLASSES:
        return frozenset(_CLASSES[token])
    if token in (*_SLOTS, "S's", "NOUN", "NOUN's", "WH"):
        return frozenset()
    return frozenset(inflected(token[1:])) if token.startswith("~") else frozenset({token.casefold()})
