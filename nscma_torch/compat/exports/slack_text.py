"""Convert Slack's markup of mentions, links and special characters to plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_MARK = re.compile(r"<([^<>]*)>")
_ESCAPED = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPE = re.compile("|".join(_ESCAPED))


def plain_text(text: str, name_of: Callable[[str], str], channels: Mapping[str, str]) -> str:
    """Return a message's text with names in place of ids, and labels with their links.

    >>> plain_text("<@U1> wrote &lt;b&gt; in <#C1>, see <https://a.org|this>", {"U1": "Ana"}.get, {"C1": "#all"})
    '@Ana wrote <b> in #all, see this (https://a.org)'
    """

    def shown(found: re.Match[str]) -> str:
        target, _, label = found[1].partition("|")
        if target.startswith("@"):
            return "@" + (label or name_of(target[1:]) or target[1:])
        if target.startswith("#"):
            return channels.get(target[1:]) or f"#{label or target[1:]}"
        if target.startswith("!"):
            return label or "@" + target[1:].partition("^")[0]
        address = target.removeprefix("mailto:").removeprefix("tel:")
        return address if not label or label in (address, target.partition("://")[2]) else f"{label} ({address})"

    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], _MARK.sub(shown, text))
