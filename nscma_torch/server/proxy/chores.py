"""Recognise requests that a chat client makes on its own: titles, tags, follow-up suggestions, draft completions.

They are recognised by common features found in the clients' public source code. Open WebUI sends a prompt of headings
("### Task:") that ends with the conversation between `<chat_history>` tags, and may name the task in `metadata`;
LibreChat, Continue, Zed and others ask, in a sentence or two, for the title "of the conversation".
"""

from __future__ import annotations

import re
from typing import Any

_OPENING = 600  # characters of a prompt searched for its purpose
_TASKS = frozenset(  # of Open WebUI, backend/open_webui/constants.py
    f"{what}_generation" for what in ("title", "follow_up", "tags", "emoji", "query", "image_prompt", "autocomplete")
) | {"function_calling"}
_VERB = (
    r"(?:please |now |briefly )*"
    r"(?:generate|create|provide|suggest|write|give|make|propose|produce|return|come up with|summari[sz]e|analy[sz]e)\b"
)
_MADE = r"(?:titles?|tags?|follow-?ups?|emojis?)"
_CONVERSATION = (
    r"(?:(?:the|this|that|our|a|following)(?: (?:following|above|previous|current|entire|whole))? "
    r"(?:conversation|chat(?: history)?|dialogue|discussion|thread|exchange)"
    r"|the (?:following|above|previous) (?:query|message|prompt|question))"
    r"(?=\W*$|[^\w\s]|\s*\n| (?:and|above|below|based|using|in|so|that|as|with|history)\b)"
)
_ASKS = re.compile(
    rf"\s*(?:#+ ?task:?\s*)?{_VERB}"
    rf"(?:[^\n]{{0,200}}?\b{_MADE}\b[^.!?\n]{{0,100}}?\b{_CONVERSATION}|[^\n]{{0,80}}?\b{_CONVERSATION}[\s\S]{{0,200}}?\b{_MADE}\b)",
    re.IGNORECASE,
)
_WRITES_TITLES = re.compile(r"\s*you are an? (?:\w+ ){0,3}(?:title|tag|headline) (?:generator|writer)\b", re.IGNORECASE)
_HISTORY = re.compile(r"^<chat_history>\s*$", re.MULTILINE)
_EXPRESSION = "Your task is to reflect the speaker's likely facial expression"  # Open WebUI's emoji of a spoken reply


def is_chore(text: str, first: str) -> bool:
    """Return True if a user turn is a request by the client itself. `first` is the conversation's first message, or
    empty.
    """
    if text.startswith("### Task:") and _HISTORY.search(text):
        return True
    if text.startswith(_EXPRESSION) or _WRITES_TITLES.match(first[:_OPENING]):
        return True
    return _ASKS.match(text[:_OPENING]) is not None


def is_task(metadata: Any) -> bool:
    """Return True if a request's `metadata` names an Open WebUI task."""
    task = metadata.get("task") if isinstance(metadata, dict) else None
    return isinstance(task, str) and task in _TASKS
