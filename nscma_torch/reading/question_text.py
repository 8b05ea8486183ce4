"""A question as the forms read it: without politeness, adverbs, contractions; and what it says of "before" apart."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from nscma_torch.text.sentences import split_sentences

LONGEST = 400  # characters of a question that forms are matched with: their patterns cost more than its length
LONGEST_HAN = 100


@dataclass(frozen=True, slots=True)
class Plain:
    """`words` is what remains; `before` is what "before …" names, and where it names nothing, `previous` is set."""

    words: str
    before: str = ""
    previous: bool = False


_OPENING = re.compile(
    r"^(?:(?:hey|hi|hello|so|and|but|ok|okay|well|please|quick question|by the way|btw|just|also|remind me(?: again)?"
    r"|tell me(?: again)?|(?:can|could|would|will) you (?:please )?(?:tell|remind) me"
    r"|(?:do|would|did) you (?:happen to )?(?:know|remember|recall)|can you remember"
    r"|i (?:want|need|would like) to know|i'?d like to know|i forgot|i forget"
    r"|i (?:do not|don't|can't|cannot) (?:remember|recall|know)|what i want to know is|any idea|what about|if|whether)"
    r"\b[\s,:;.!-]*)+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"[\s,]+(?:please|again|by the way|btw|exactly|for me|in the end|anyway|do you know|do you remember|thanks"
    r"|thank you|the most|precisely|then|if i may ask)$",
    re.IGNORECASE,
)
_ADVERBS = re.compile(
    r"[\s,]+\b(?:right now|at the moment|at present|these days|nowadays|as of now|at this point|currently"
    r"|presently|now|today|still|actually|really|exactly|already|just|ever|again)\b(?!')",
    re.IGNORECASE,
)
_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"\b(who|what|where|when|how|which)'?s\b(?!')", r"\1 is"),
        (r"\b(who|what|where|when|how)'re\b", r"\1 are"),
        (r"\b(who|what|where|when|how)'d\b", r"\1 did"),
        (r"\bi'm\b", "i am"),
        (r"\b(you|we|they)'re\b", r"\1 are"),
        (r"\b(i|you|we|they)'ve\b", r"\1 have"),
        (r"\b(is|are|was|were|do|does|did|has|have|had)n't\b", r"\1"),
        (r"\bwhom\b", "who"),
    )
)
_LED_BY_BEFORE = re.compile(r"^before (?P<before>[^,]+),\s*(?P<rest>.+)$", re.IGNORECASE)
_BEFORE = re.compile(
    r"^(?P<rest>.*?)[\s,]*\b(?:(?:right|just|immediately|directly) )?before(?:\s+(?P<before>.+))?$", re.IGNORECASE
)
_EVENT = re.compile(  # "before I moved to Oslo", "before going to Oslo", "before it was in the hall"
    r"^(?:\S+ )?(?:\S+ )?(?:moved|moving|went|going|was|were|being|lived|living|worked|working|joined|joining"
    r"|started|starting|came|coming|got|getting|visited|visiting|switched|switching|took|taking|had|having)"
    r"\s+(?:back )?(?:(?:to|in|at|into|for|on|with)\s+)?"
    r"(?P<name>.+)$",
    re.IGNORECASE,
)
_UNNAMED = frozenset({"", "that", "this", "then", "it", "now"})
_ONCE = re.compile(r"\b(?:used? to|previously|formerly|originally|in the past)\b\s*", re.IGNORECASE)

_ZH_OPENING = re.compile(r"^(?:请问|请|你?还?(?:知道|记得)|告诉我|提醒我|那么|那|对了|我想知道|我忘了|[,，\s])+")
_ZH_CLOSING = re.compile(r"[呢啊呀啦哦嘛？?。！!\s]+$")
_ZH_ADVERBS = re.compile(r"现在|目前|如今|眼下|当前|最近|到底|究竟|还是(?=在)|具体")
_ZH_BEFORE = re.compile(r"(?:在)?(?:搬到|搬去|去|到|来|在)(?P<before>[^，,]+?)(?:之前|以前)[，,]?(?:是)?")
_ZH_ONCE = re.compile(r"(?:再|这|那)?(?:之前|以前|从前|原来|原先|过去|曾经|曾)的?")


def plain(question: str) -> Plain:
    """An English question, reduced; no words of one that is longer than `LONGEST`."""
    text = " ".join(unicodedata.normalize("NFKC", question).replace("’", "'").split())
    text = _asked(text).strip(' ?!.,"“”')
    if len(text) > LONGEST:
        return Plain("")
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    text = _OPENING.sub("", text)
    while (shorter := _CLOSING.sub("", text)) != text:
        text = shorter
    led = _LED_BY_BEFORE.match(text)
    match = led or _BEFORE.match(text)
    before, previous = "", False
    if match:
        before = (match["before"] or "").strip()
        event = _EVENT.match(before)
        before = event["name"] if event else before
        previous = before.casefold() in _UNNAMED
        before = "" if previous else before
        text = match["rest"]
    text = _ADVERBS.sub("", f" {text}").strip()
    once = _ONCE.sub("", text)
    return Plain(" ".join(once.split()).strip(" ,"), before, previous or (once != text and not before))


def _asked(text: str) -> str:
    """The sentence that asks: the last one with a question mark, else the last."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)] or [text]
    return next((sentence for sentence in reversed(sentences) if "?" in sentence), sentences[-1])


def plain_chinese(question: str) -> Plain:
    """A Chinese question, reduced, without spaces beside its characters; no words of one longer than `LONGEST_HAN`."""
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    if len(text) > LONGEST_HAN:
        return Plain("")
    text = re.sub(r"(?<=[^\x00-\x7f])\s+|\s+(?=[^\x00-\x7f])", "", text)
    text = _ZH_OPENING.sub("", _ZH_CLOSING.sub("", text))
    if text.endswith("吗") and re.search(r"谁|什么|哪|多少|几[个岁号]", text):  # "do you know where …?"
        text = text.removesuffix("吗")
    before, previous = "", False
    if match := _ZH_BEFORE.search(text):
        before = match["before"]
        text = text[: match.start()] + text[match.end() :]
    text = _ZH_ADVERBS.sub("", text)
    once = _ZH_ONCE.sub("", text)
    previous = once != text and not before
    return Plain(once.strip(" ,，"), before, previous)
