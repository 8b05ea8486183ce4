"""The stories of bAbI with other people, places, things and verbs, to tell a general reader from one that fits bAbI."""

from __future__ import annotations

import re
from dataclasses import replace

from eval.tasks.babi import Story

_WORDS = {
    **{"mary": "Priya", "john": "Kwame", "daniel": "Tomas", "sandra": "Ingrid", "bill": "Hugo", "fred": "Leila"},
    **{"jeff": "Anton", "julie": "Noemi", "julius": "Pavel", "brian": "Otto", "lily": "Wanda", "greg": "Ravi"},
    **{"bathroom": "laundry room", "bedroom": "attic", "garden": "orchard", "hallway": "veranda"},
    **{"kitchen": "workshop", "office": "library", "park": "harbour", "school": "museum", "cinema": "bakery"},
    **{"apple": "lantern", "football": "violin", "milk": "notebook", "cake": "compass"},
}
_VERBS = (  # in statements alone: questions keep their verbs
    ("went back to", "returned to"),
    ("went to", "walked to"),
    ("moved to", "hurried to"),
    ("journeyed to", "drove to"),
    ("travelled to", "cycled over to"),
    ("picked up", "collected"),
    ("grabbed", "snatched"),
    ("took", "lifted"),
    ("got", "fetched"),
    ("dropped", "set down"),
    ("put down", "laid down"),
    ("discarded", "abandoned"),
    ("left", "let go of"),
    ("gave", "lent"),
    ("handed", "brought"),
    ("passed", "returned"),
)
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_VERB = re.compile(rf"\b(?:{'|'.join(old for old, _ in _VERBS)})\b")


def renamed(story: Story) -> Story:
    """A story about others, told and asked with other words."""
    verbs = dict(_VERBS)
    messages = [
        replace(message, content=_VERB.sub(lambda match: verbs[match[0]], _others(message.content)))
        for message in story.messages
    ]
    questions = [replace(each, text=_others(each.text), answer=_others(each.answer)) for each in story.questions]
    return Story(f"{story.name}-renamed", messages, questions)


def _others(text: str) -> str:
    return _WORD.sub(lambda match: _WORDS[match[0].lower()], text)
