"""What a turn of the user is, by its form: whether it asks, and which standing instructions it gives."""

from __future__ import annotations

import re

from nscma_torch.text.sentences import split_sentences

_MOST_CHARACTERS = 300  # of one instruction; longer sentences are stories, not rules
_ASKS = re.compile(
    r"[?？]\W*$"
    r"|^\W*(?:who|whom|whose|what|which|how)\b(?!\s+(?:a|an|i|we|you|he|she|they)\b)"
    r"|^\W*(?:when|where|why|how|what)\s+(?:is|are|was|were|am|do|does|did|will|would|can|could|should|has|have|had)\b"
    r"|^\W*(?:do|does|did|is|are|was|were|am|can|could|will|would|should|has|have|had)\s+(?:i|you|we|he|she|it|they"
    r"|my|your|our|his|her|their|the|there|any\w*|some\w*)\b"
    r"|^\W*(?:please\s+)?(?:tell|remind|show)\s+(?:me|us)\b"
    r"|(?:吗|呢|么)\W*$|^\W*(?:请问|告诉我|谁|什么|哪|几|多少|怎么|为什么|何时)"
    r"|(?:什么|哪[里儿个天年些]|多少|几[个点号岁]|谁|怎么样?)\W*$",
    re.IGNORECASE,
)
_STANDING = re.compile(
    r"^(?:ok(?:ay)?[,.]?\s+|so[,]?\s+|and\s+|also[,]?\s+|but\s+|please[,]?\s+)*"
    r"(?:from (?:now|here) on(?:wards?)?\b|from today(?: on)?\b|in (?:the )?future[, ]|going forward\b|henceforth\b"
    r"|(?:please\s+)?always\s+(?!been\b|was\b|were\b|had\b)[a-z]+"
    r"|never\s+(?!been\b|was\b|were\b|had\b|mind\b|again\b)[a-z]+"
    r"|(?:when|whenever|every time|each time|if)\s+i\s+(?:ask|say|write|mention|tell)\b.*[,，]"
    r"|(?:call|address)\s+me\b|(?:answer|reply|respond|speak|talk|write)(?:\s+to\s+me)?\s+(?:only\s+|always\s+)?in\s+\w+"
    r"|use\s+\w+\s+units\b)"
    r"|^(?:请|麻烦)?(?:你)?(?:从现在(?:开始|起)|今后|往后|以后(?=请|都|每|你|不要|别|我(?:问|说|提))|每次|每当|叫我|称呼我"
    r"|(?:始终|永远|总是|一律|一直|只)(?=用|以|称|叫|把|先|按|给|使用|回答|回复|不要|别)|用[^，。]{1,8}(?:回答|回复))",
    re.IGNORECASE,
)
_EVERY_TIME = re.compile(r"\balways\b.*\bwhen(?:ever)? i\b|\bwhen(?:ever)? i\b.*\balways\b", re.IGNORECASE)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^\s*>.*?$|[\"“”«].*?[\"“”»]|「.*?」|『.*?』|《.*?》|(?<!\w)['‘].*?['’](?!\w)",
    re.DOTALL | re.MULTILINE,
)


def asks(text: str) -> bool:
    """Whether some sentence of it is a question, or asks to be told."""
    return any(_ASKS.search(sentence) for sentence in _sentences(text))


def only_asks(text: str) -> bool:
    """Whether each of its sentences is a question: such a turn says nothing that could be remembered."""
    sentences = _sentences(text)
    return bool(sentences) and all(_ASKS.search(sentence) for sentence in sentences)


def questions(text: str) -> str:
    """Its sentences that ask; the whole of it where none does."""
    return " ".join(sentence for sentence in _sentences(text) if _ASKS.search(sentence)) or text


def standing_instructions(text: str) -> tuple[str, ...]:
    """The sentences that say how to behave from now on, word for word; what is quoted in it instructs nobody.

    >>> standing_instructions("Always answer in metric units. I moved to Porto.")
    ('Always answer in metric units.',)
    """
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    found = []
    for span in split_sentences(bare):
        sentence = bare[span.start : span.end]
        whole = text[span.start : span.end]
        ruled = _STANDING.match(sentence) or _EVERY_TIME.search(sentence)
        if ruled and len(whole) <= _MOST_CHARACTERS and not _ASKS.search(sentence):
            found.append(whole)
    return tuple(found)


def _sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]
