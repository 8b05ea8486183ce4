"""Convert Discord's markup of mentions and emoji to plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MENTION = re.compile(r"<@!?(\d{1,20})>")
_EMOJI = re.compile(r"<a?(:\w{1,64}:)\d{1,20}>")


def plain_text(text: object, names: Mapping[str, str]) -> str:
    """Return a message's text with names in place of known ids; "" if it isn't a string.

    >>> plain_text("<@12> <:wave:34>", {"12": "Ana"})
    '@Ana :wave:'
    """
    if not isinstance(text, str):
        return ""
    return _EMOJI.sub(r"\1", _MENTION.sub(lambda found: "@" + names.get(found[1], found[1]), text))
