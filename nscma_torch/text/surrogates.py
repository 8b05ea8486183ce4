"""Find lone surrogates, which JSON can write ("\\ud83d") but UTF-8 cannot."""

from __future__ import annotations

from collections.abc import Mapping

from nscma_torch.core.errors import EncodingError


def refuse_surrogates(value: object, name: str) -> None:
    """Raise `EncodingError` if a text, or any text inside mappings and lists, contains a lone surrogate."""
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            _refuse(one, name)
        elif isinstance(one, Mapping | list | tuple | set | frozenset) and id(one) not in seen:
            seen.add(id(one))  # a list may hold itself
            waiting.extend(one)
            if isinstance(one, Mapping):
                waiting.extend(one.values())


def joined_pairs(text: str) -> str:
    """Join every adjacent surrogate pair into one character.

    >>> joined_pairs("\\ud83d" + "\\ude00") == "\\U0001f600"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _refuse(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(
            f"{name} contains a lone surrogate ({text[error.start]!r}) at character {error.start}; replace it"
        ) from error
