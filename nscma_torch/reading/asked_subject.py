"""Find the subject of a question ("I", "my sister"), and ask a passage for its own subject.

"Do I have diabetes?" is about the asker. Asking the answering passage "Who does have diabetes?" reveals whether the
passage is about the asker, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nscma_torch.reading.noun_phrases import PERSON_NOUN

_PERSON = PERSON_NOUN.pattern
_DESCRIBED = r"(?:(?:older|younger|elder|little|big|best|old|new|twin|late|own|dear|ex)[\s-])*"
_AUXILIARY = {"do": "does", "am": "is", "are": "is", "were": "was", "have": "has"}
_ASKING = r"(?:what|which|where|when|who|whom|whose|why|how(?:\s(?:much|many|often|long|old|far))?)"
_VERBAL = re.compile(
    rf"(?:(?P<asking>{_ASKING})\b(?P<noun>[^,;?]*?)\s|[^?]*?)??"
    r"\b(?P<auxiliary>do|does|did|am|is|are|was|were|have|has|had|can|will)(?:n['’]t)?\s+(?:not\s+)?"
    rf"(?P<subject>i|my\s+{_DESCRIBED}(?P<role>{_PERSON})(?!['’]))\b(?P<rest>\s+[^?]+?)?\s*\?*",
    re.IGNORECASE,
)
_OWNED = re.compile(
    rf"(?P<asking>{_ASKING})(?P<noun>\s[^,;?]*?)??(?:\s(?:is|are|was|were)|['’]s)\s+my\s+{_DESCRIBED}"
    rf"(?:(?P<role>{_PERSON})['’]s\s+)?(?P<thing>[^?]+?)\s*\?*",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)
_SECOND = re.compile(r"\b(?:you|your|yours|yourself|we|our|us|assistant)\b", re.IGNORECASE)
_MOST = 300  # characters of a question that is looked at


class AskedSubject(NamedTuple):
    """The subject of a question: the asker, or a person the asker refers to by `role` ("sister").

    `whether` is True for a yes-or-no question. `template` is the question that asks for the subject, with a placeholder
    for the answer.
    """

    role: str
    whether: bool
    template: str

    def question(self, answer: str) -> str:
        """Return the question that asks whom a passage containing this answer is about."""
        return " ".join(self.template.format(answer="" if self.whether else answer).split()).replace(" ?", "?")


def asked_subject(question: str) -> AskedSubject | None:
    """Return the subject of a question if it is the asker or one of their relations, else None."""
    text = " ".join(question.split())[-_MOST:].replace("{", "(").replace("}", ")")
    verbal = _VERBAL.fullmatch(text)
    if verbal and (verbal["rest"] or (verbal["asking"] or "who").lower() != "who"):
        auxiliary = verbal["auxiliary"].lower()
        about = f"{_AUXILIARY.get(auxiliary, auxiliary)} {verbal['rest'] or ''} {verbal['noun'] or ''}"
        role = (verbal["role"] or "").lower()
        return AskedSubject(role, verbal["asking"] is None, f"who {about} {{answer}}?")
    owned = _OWNED.fullmatch(text)
    if owned is None or re.fullmatch(_PERSON, owned["thing"], re.IGNORECASE):
        return None  # "who is my boss?" asks who somebody is, not about them
    return AskedSubject((owned["role"] or "").lower(), False, f"whose {owned['thing']} is {{answer}}?")


def only_of_asker(question: str) -> bool:
    """Return True if a question is about the asker and not the addressee, so only the asker's messages count."""
    return _FIRST.search(question) is not None and _SECOND.search(question) is None
