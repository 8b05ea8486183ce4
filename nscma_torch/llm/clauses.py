"""Clauses of a message that assert something, ready for the forms: contractions written out, questions left out.

What asks, supposes, wishes or doubts is no statement, nor is what stands in quotation marks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nscma_torch.llm.phrases import NOT_NAMES, NAME
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import script

_QUOTED = re.compile(r"[\"“][^\"”]{3,}[\"”]|「[^」]*」|(?<=\s)'[^']{3,}'(?=[\s.,!]|$)")
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|wish|suppose|supposing|imagine|pretend|hypothetically|as though|what about|how about|let's say"
    r"|in another life|had I|were I|used to think|not sure|no idea|who knows|can't believe|almost|nearly|supposedly|rumou?r"
    r"|allegedly|apparently|joking|kidding|dreamt|dreamed|in my dream|in the (?:movie|film|novel|book|story|game|show))\b"
    r"|如果|要是|假如|假设|万一|倘若|但愿|希望|也许|可能|大概|或许|好像|似乎|听说|据说|开玩笑|梦见|梦到|差点",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|I (?:think|guess|believe|suppose|bet|doubt|assume|reckon)|seems?|claims?|claimed|joked"
    r"|says (?:that|she|he|it|they|I|there))\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^\W*(?:(?:and|but|so|well|hey|hi|ok|okay|oh)\W+)*(?:who|whom|whose|what|when|where|why|which|how|do|does|did|is|are|was|were|can"
    r"|could|will|would|should|have|has|am|shall|may)\b(?!.*[.!]$)|(?:吗|呢|吧|么)\W*$|^\W*(?:谁|什么|哪|怎么|为什么|几|多少)",
    re.IGNORECASE,
)
_BARE_QUESTION = re.compile(
    r"^\W*(?:(?:and|but|so|well|hey|ok|oh)\W+)*(?:who|what|when|where|why|which|how|do|does|did|is|are|can|could|will|would|should)"
    r"\s+(?:i|you|he|she|it|they|we|the|my|your|that|this|there|'s|is|are|do|does|did|to)\b",
    re.IGNORECASE,
)

_EXPANSIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"\bI'?m\b(?!\w)", "I am"),
        (r"\b(we|you|they)'re\b", r"\1 are"),
        (r"\b(I|we|you|they)'ve\b", r"\1 have"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(I|we|you|they|he|she|it)'d\b", r"\1 would"),
        (r"\bcan(?:'t|not)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(is|are|was|were|do|does|did|have|has|had|would|could|should|must)n't\b", r"\1 not"),
        (r"\bain't\b", "is not"),
        (r"\b(he|she|it|that|this|there|here|who)'s (been|got|gone|moved|left|quit|become|started|joined|had|taken)\b", r"\1 has \2"),
        (r"\b(he|she|it|that|there|here|who|everything)'s\b", r"\1 is"),
        (r"\b(\w+)'s (been|got|gone|become|moved|started|quit|joined|left|taken)\b", r"\1 has \2"),
        (
            r"\b(\w+)'s (?=(?:a|an|the|not|no longer|now|currently|still|in|at|on|from|back|allergic|vegan|vegetarian|married|engaged"
            r"|dating|really|always|also|finally|officially|done|due|scheduled|my|\w{3,}ing)\b)(?!(?:wedding|painting|building|meeting"
            r"|training|housewarming|evening|morning|parking|ceiling|drawing|king|ring|thing|string|spring)\b)",
            r"\1 is ",
        ),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\bgotta\b", "have to"),
        (r"\b(I|we|you|they|he|she) got (?=(?:a|an|two|three|\d)\b)", r"\1 got "),
    )
)

_LEAD = re.compile(
    r"^(?:(?:and|but|so|then|well|oh|ok|okay|hey|hi|hello|yes|yeah|yep|no|nope|btw|by the way|anyway|also|actually|honestly|basically|"
    r"fyi|just so you know|just fyi|quick update|update|good news|bad news|big news|news|guess what|turns out|it turns out(?: that)?|"
    r"for the record|as you know|you know|look|listen|heads up|note|reminder|remember(?: that)?|please (?:note|remember)(?: that)?|"
    r"don't forget(?: that)?|do not forget(?: that)?|of course|sure|right|wow|great|sadly|unfortunately|luckily|happily|finally|"
    r"these days|nowadays|right now|at the moment|currently|lately|recently|meanwhile|eventually|now|today|yesterday|this morning|"
    r"this week|last night|as of \w+(?: \w+)?|after that|afterwards|later|correction|sorry|first|second|because|since then|while|"
    r"although|though|plus|i mean|to be clear|in fact|still|tbh|lol|haha|i (?:just )?(?:told you|mentioned|said)(?: that)?|"
    r"(?:i'm|i am) (?:happy|glad|proud|sad|sorry|excited|pleased) (?:to (?:say|announce|report) )?that|"
    r"i (?:can|just) (?:confirm|noticed|found out|realized|realised|learned)(?: that)?|the (?:good|bad) news is(?: that)?|"
    r"(?:you should |just )?(?:know|so you know)(?: that)?|like i said|as i said|as mentioned)(?:\s*[,:!.–—-]+\s*|\s+))+",
    re.IGNORECASE,
)
_PRONOUN = r"(?:I|you|he|she|it|we|they|my|our|his|her|their|your|there|this|that)"
_ADVERBIAL = re.compile(
    r"^(?:since|in|on|by|from|until|last|next|this|after|before|for|at|during|every|with|as of|thanks to|about)\s[^,]{1,45}?,?\s+"
    rf"(?=(?:I|we|he|she|they|it|you|my|our|his|her|the|your)\s|{NAME}\s+(?:is|has|was|are|had|will)\s)",
    re.IGNORECASE,
)
_VOCATIVE = re.compile(rf"^(?:(?:hi|hey|hello|dear|ok|okay|so)\s+)?({NAME})(?:,\s+|\s*[:!]\s+)(?=(?:you|your|the|I|we|my|our|can|could|it|please|don't|this)\b)")
_SPLIT = re.compile(
    r"\s*;\s*|\s+[–—-]+\s+|\s*[–—]\s*|:\s+(?=[A-Z])|\s*\((?=\w)|\)\s*"
    rf"|,?\s+(?:and|but|so|while|because|although|though|whereas|yet|then|which means|and then)\s+(?={_PRONOUN}\s)"
    rf"|,?\s+(?:but|so|because|although|though|whereas)\s+"
    rf"|,\s+(?={_PRONOUN}\s+\w+)"
    r"|,\s+(?:and|so)\s+(?=(?:the|[A-Z]\w+)\s)"
    r"|,\s+(?:and|but|so)\s+(?=(?:\w+\s+){0,3}?(?:is|are|was|has|have|had|will|am|did|does)\s)"
    rf"|,\s+(?={NAME}\s+(?:is|has|was|will|had|works|lives|now|just|no longer|does|did)\s)"
    r"|,\s+(?=(?:the|my|our)\s+\w+\s+(?:is|are|was|has)\s)"
    r"|\s+and\s+(?=(?:the|[A-Z]\w+)\s+(?:is|are|was|were|has|have|will|\w+s|\w+ed)\s)",
)
_RELATIVE = re.compile(r"^(?P<head>[^,]{2,60}?),?\s+who\s+(?P<rest>[^,]+)(?:,\s*(?P<main>.+))?$")
_CJK_SPLIT = re.compile(r"[，,；;。！!：:～~\n]+|(?:但是|不过|所以|因为|而且|然后)")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause, contractions written out; `start` and `end` are those of its sentence. `doubted`: somebody's guess."""

    text: str
    start: int
    end: int
    sentence: int
    cjk: bool = False
    correction: bool = False
    listener: str = ""


_CORRECTS = re.compile(
    r"\b(?:correction|i (?:misspoke|was wrong|was mistaken|meant|made a mistake|mixed up|got that wrong)|scratch that|wait,? no|my mistake"
    r"|not .{1,30} (?:as|like) i said|sorry,? i meant|mistyped|typo)\b|更正|说错了|记错了|纠正|搞错了|口误",
    re.IGNORECASE,
)


def clauses(text: str, verbs: frozenset[str]) -> list[Clause]:
    """The asserting clauses in order. A part without a subject begins with a verb of `verbs` and shares the one before."""
    found: list[Clause] = []
    masked = _QUOTED.sub(lambda m: "\x00" * len(m[0]) if len(m[0].split()) > 3 or not m[0].isascii() else m[0], text)
    corrects = False
    for number, span in enumerate(split_sentences(masked)):
        sentence = masked[span.start : span.end].replace("’", "'").strip()
        cjk = script(sentence) == "cjk"
        corrects = bool(_CORRECTS.search(sentence)) or (corrects and len(found) == 0)
        if _is_question(sentence) or _UNREAL.search(sentence):
            continue
        vocative = _VOCATIVE.match(sentence)
        listener = vocative[1] if vocative and vocative[1].lower() not in NOT_NAMES else ""
        for part in _parts(sentence[vocative.end() :] if vocative and listener else sentence, verbs, cjk):
            if part and "\x00" not in part:
                found.append(Clause(part, span.start, span.end, number, cjk, corrects, listener))
    return found


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”)] ").endswith(("?", "？")) or bool(_BARE_QUESTION.match(sentence)) or bool(
        re.search(r"[吗呢么]\W*$", sentence)
    )


def _parts(sentence: str, verbs: frozenset[str], cjk: bool) -> list[str]:
    if cjk:
        return [part.strip() for part in _CJK_SPLIT.split(sentence) if part.strip()]
    for pattern, full in _EXPANSIONS:
        sentence = pattern.sub(full, sentence)
    parts: list[str] = []
    for part in _SPLIT.split(sentence.rstrip(" .!…\"'”")):
        parts += _coordinated(part or "", verbs)
    return [cleaned for part in parts for cleaned in _unfolded(part) if cleaned and not _DOUBTED.search(cleaned)]


def _coordinated(part: str, verbs: frozenset[str]) -> list[str]:
    """Split at "and", or a comma, where a verb follows: "I live in Oslo and work at Bosch"."""
    out, begin = [], 0
    for match in re.finditer(r",?\s+(?:and|but|then|and then)\s+(?:(?:now|also|still|recently|just|currently|even)\s+)?(?=(\w+))|,\s+(?=(\w+)\s)", part):
        following = (match[1] or match[2]).lower()
        if following in verbs or following in ("am", "is", "are", "was", "were", "has", "have", "do", "does", "will", "can"):
            out.append(part[begin : match.start()])
            begin = match.end()
    return [*out, part[begin:]]


def _unfolded(part: str) -> list[str]:
    """A clause without its introduction; "Anna, who works at Bosch, lives in Oslo" as two."""
    text = _LEAD.sub("", part.strip(" ,.!\"'")).strip(" ,")
    text = _LEAD.sub("", _ADVERBIAL.sub("", text)).strip(" ,")
    relative = _RELATIVE.match(text)
    if relative is None:
        return [text]
    out = [f"{relative['head']} {relative['rest']}"]
    if relative["main"]:
        out.append(f"{relative['head']} {relative['main']}")
    return out
