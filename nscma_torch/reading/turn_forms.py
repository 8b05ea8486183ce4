"""Classify a user's turn by its form: detect questions, requests to keep something, and standing instructions."""

from __future__ import annotations

import re

from nscma_torch.text.sentences import split_sentences

_MOST_CHARACTERS = 300  # of one instruction; longer sentences are stories, not rules
_LEAD = r"^\W*(?:(?:and|so|but|well|then|also|ok|okay|hi|hey|oh|btw)\b[\s,]+){0,3}"
_ASKS = re.compile(
    r"[?？]\W{0,40}$"
    rf"|{_LEAD}(?:who|whom|whose|what|which|how)\b(?!\s+(?:a|an|i|we|you|he|she|they|knows|is\s+why)\b)"
    rf"|{_LEAD}(?:when|where|why|how|what)\s+(?:is|are|was|were|am|do|does|did|will|would|can|could|should|has|have|had)\b"
    rf"|{_LEAD}(?:do|does|did|is|are|was|were|am|can|could|will|would|should|has|have|had)\s+(?:i|you|we|he|she|it|they"
    r"|my|your|our|his|her|their|the|there|any\w*|some\w*)\b"
    r"|^\W*(?:please\s+)?(?:tell|remind|show)\s+(?:me|us)\b"
    r"|(?:吗|呢|么)\W{0,40}$|^\W*(?:请问|告诉我|谁|什么|哪|几|多少|怎么|为什么|何时)"
    r"|(?:什么|哪[里儿个天年些]|多少|几[个点号岁]|谁|怎么样?)\W{0,40}$",
    re.IGNORECASE,
)
_KEEPS = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|hey|hi|and|also|oh|so|please|pls)\b[,]?\s+)*"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
    r"(?:remind\s+(?:me|us)\s+(?:please\s+)?(?:not\s+)?(?:to|that|on|at|in|every|each|before|after|by|tomorrow|tonight"
    r"|next|the\s+(?:day|night|morning|evening)\s+before)\b"
    r"|(?:don['’]?t|do\s+not|never)\s+(?:let\s+(?:me|us)\s+)?forget\b"
    r"|remember\s+(?:that|to|this|my|our)\b|keep\s+in\s+mind\b|note\s+(?:that|down|to\s+self)\b"
    r"|make\s+a\s+note\b|write\s+(?:this|that|it)\s+down\b|(?:new\s+thing|something|this\s+is)\s+to\s+(?:keep|remember)\b)"
    r"|^\W*(?:请|請)?(?:提醒我|记住|記住|别忘了|別忘了|不要忘记)",
    re.IGNORECASE,
)
_COMMAND = (  # how a sentence goes on that tells the assistant what to do
    r"(?:(?:please|always|never|do\s+not|don['’]t|only|just)[,]?\s+)*(?:you\b|address|answer|ask|assume|avoid|be|begin|call"
    r"|check|cite|convert|end|explain|format|give|include|keep|leave|list|make|mention|omit|put|quote|refer|remember|remind"
    r"|reply|respond|say|send|show|skip|speak|spell|start|stop|summari[sz]e|talk|tell|translate|treat|use|write)\b"
)
_STANDING = re.compile(
    r"^(?:ok(?:ay)?[,.]?\s+|so[,]?\s+|and\s+|also[,]?\s+|but\s+|please[,]?\s+)*"
    r"(?:(?:from (?:now|here) on(?:wards?)?|from today(?: on)?|in (?:the )?future|going forward|henceforth)[,:]?\s+"
    rf"{_COMMAND}"
    r"|(?:please\s+)?always\s+(?!been\b|was\b|were\b|had\b)[a-z]+"
    rf"|(?=never\s+){_COMMAND}"
    r"|(?:when|whenever|every time|each time|if)\s+i\s+(?:ask|say|write|mention|tell)\b[^,，]*[,，]\s*"
    rf"{_COMMAND}"
    rf"|(?!you\b){_COMMAND}.*\balways\b.*\bwhen(?:ever)?\s+i\b"
    r"|(?:call|address)\s+me\b|(?:answer|reply|respond|speak|talk|write)(?:\s+to\s+me)?\s+(?:only\s+|always\s+)?in\s+\w+"
    r"|use\s+\w+\s+units\b)"
    r"|^(?:请|麻烦)?(?:你)?(?:从现在(?:开始|起)|今后|往后|以后(?=请|都|每|你|不要|别|我(?:问|说|提))|每次|每当|叫我|称呼我"
    r"|(?:始终|永远|总是|一律|一直|只)(?=用|以|称|叫|把|先|按|给|使用|回答|回复|不要|别)|用[^，。]{1,8}(?:回答|回复))",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(  # how the assistant's replies shall be, addressed to it, in any sentence of a turn
    r"(?:^|[:;,]\s+|\b(?:so|and|but)\s+)(?:please\s+)?(?:(?:always|only|just)\s+)?"
    r"(?:(?:answer|reply|respond|speak|talk|write)(?:\s+to)?\s+me\b|(?:call|address)\s+me\b"
    r"|(?:keep|make|end|begin|start|finish|close|write|sign|give)\s+(?:all\s+|each\s+of\s+)?your\s+"
    r"(?:answers?|repl(?:y|ies)|messages?|responses?|sentences?)\b)",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:from (?:now|here) on(?:wards?)?|always|in (?:the )?future|going forward|henceforth|at all times"
    r"|(?:in|with|after) (?:every|each|all)\b)",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"[,，]\s*(?:\w+\s+){1,3}(?:said|says|told\s+me|used\s+to\s+say|advised|wrote)\W*$"
    r"|\b(?:said|says|wrote|(?:told|tells)\s+\w+)\s*[:,]",
    re.IGNORECASE,
)
_GREETS = re.compile(
    r"^\W*(?:hi|hello|hey|thanks|thank you|good (?:morning|afternoon|evening)|ok(?:ay)?|你好|您好|谢谢)(?:\s+\w+)?\W*$",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>.*?$|[\"“”«][^\"“”«»]*[\"“”»]|「[^「」]*」|『[^『』]*』|《[^《》]*》"
    r"|(?<!\w)['‘][^'‘’]*(?:(?<=\w)['’](?=\w)[^'‘’]*)*['’](?!\w)",
    re.DOTALL | re.MULTILINE,
)


def asks(text: str) -> bool:
    """Return True if any sentence is a question or a request for information."""
    return any(_asks(sentence) for sentence in _sentences(text))


def only_asks(text: str) -> bool:
    """Return True if every sentence is a question, so that the turn contains nothing to remember."""
    sentences = _sentences(text)
    return bool(sentences) and all(_asks(sentence) for sentence in sentences)


def questions(text: str) -> str:
    """Return the sentences that ask, or the whole text if none does."""
    return " ".join(sentence for sentence in _sentences(text) if _asks(sentence)) or text


def statements(text: str) -> str:
    """Return the sentences that don't ask."""
    return " ".join(sentence for sentence in _sentences(text) if not _asks(sentence))


def asks_to_keep(text: str) -> bool:
    """Return True if any sentence asks to remember something, or to be reminded of it.

    >>> asks_to_keep("Can you remind me to call Bo?"), asks_to_keep("Remind me when Bo called.")
    (True, False)
    """
    return any(_KEEPS.search(sentence) for sentence in _sentences(text))


def standing_instructions(text: str) -> tuple[str, ...]:
    """Return the sentences, verbatim, that tell the assistant how to behave from now on.

    Quoted or pasted instructions don't count.

    If a one-line turn contains nothing else to remember, all its instructions are returned; otherwise only an
    instruction at its beginning, and those on how the assistant replies to the user ("answer me in French from now
    on").

    >>> standing_instructions("Always answer in metric units. I moved to Porto.")
    ('Always answer in metric units.',)
    """
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text.strip())
    line = bare.partition("\n")[0]
    spans = [span for span in split_sentences(line) if not _GREETS.match(line[span.start : span.end])]
    sentences = [line[span.start : span.end] for span in spans]
    rules = [_rules(sentence) for sentence in sentences]
    alone = line == bare and all(rule or _asks(sentence) for rule, sentence in zip(rules, sentences, strict=True))
    taken = [
        span
        for number, (span, rule) in enumerate(zip(spans, rules, strict=True))
        if rule and (alone or number == 0 or (line == bare and _addresses(sentences[number])))
    ]
    return tuple(text.strip()[span.start : span.end] for span in taken)


def _rules(sentence: str) -> bool:
    """Return True if a sentence gives a standing instruction."""
    told = _REPORTED.search(sentence) or _asks(sentence) or len(sentence) > _MOST_CHARACTERS
    return not told and (_STANDING.match(sentence) is not None or _addresses(sentence))


def _addresses(sentence: str) -> bool:
    """Return True if a sentence says how the assistant shall reply to the user from now on."""
    return _ADDRESSED.search(sentence) is not None and _LASTING.search(sentence) is not None


def _asks(sentence: str) -> bool:
    """Return True for a question or a request for information, not for a request to be reminded."""
    return _ASKS.search(sentence) is not None and not _KEEPS.search(sentence)


def _sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]
