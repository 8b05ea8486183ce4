"""Separate a speaker's own words from text that they only pass on: material for a task, and other people's words.

"Translate to Spanish: I am allergic to nuts" says nothing about the speaker, and neither does "Tom wrote: I moved". A
message marks such text by its structure: a heading that ends with a colon, quotation marks, a code block, `>` at the
beginning of a line, or the header of a forwarded mail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nscma_torch.core.records import Unit
from nscma_torch.reading.first_person import is_own_note
from nscma_torch.reading.quotation_marks import quotations
from nscma_torch.text.sentences import Span

_TEXT = (
    r"(?:e-?mails?|mails?|messages?|letters?|bio|biography|blurb|texts?|posts?|reviews?|articles?|paragraphs?"
    r"|passages?|sentences?|quotes?|quotation|lyrics|poems?|haikus?|limericks?|essays?|abstract|transcripts?|comments?"
    r"|tweets?|dialogues?|songs?|script|résumé|resume|cv|statement|testimonial|excerpt|snippet|ad|advert|caption"
    r"|conversation|draft|speech|story|voicemail|dms?|notes?|profile|description|summary|translation)"
)
_FORM = r"(?:grammar|spelling|punctuation|wording|phrasing|tone|sentiment)"
_WORK = (  # verbs used only of texts, and those that need a text as their object
    r"translate|proof-?read|summari[sz]e|rewrite|re-?word|rephrase|paraphrase|polish|shorten|simplify|condense"
    r"|classify|categori[sz]e|transcribe|critique|annotate|punctuate|spell-?check|grammar-?check|parse|extract"
)
_WORK_ON = (
    r"analy[sz]e|correct|fix|edit|improve|grade|label|reformat|convert|check|review|evaluate|assess|rate|interpret"
    r"|explain|expand|clean up|(?:repl(?:y|ies)|respond) to|look at|read"
)
_LIFE = rf"\s+(?:me|us|my|our)\b(?!\s(?:\w+\s){{0,2}}?(?:{_TEXT}|{_FORM})\b)"  # "summarise my day"
_OBJECT = (
    rf"(?:\s(?!(?:me|us|in|with|as|to|for)\s)[\w'’-]+){{0,4}}?\s{_TEXT}\b|\sthe\s(?:\w+\s)?{_FORM}\b"
    r"|[^:]*\sfor\s(?:grammar|spelling|typos|mistakes|errors)\b"
)
_RENDERED = (
    rf"(?:make|turn|put|convert|render|say|write)\s(?:this|these|the\sfollowing)\b[^:]*\b"
    rf"(?:in(?:to)?\s(?:an?\s)?(?:{_TEXT}|prose|verse|(?-i:[A-Z][a-z]*(?:ish|ese|ian|ench|erman|utch|reek|zech)))"
    r"|(?:in)?formal|polite|concise|professional|casual)\b"
)
_ASKED = r"(?:^|\b(?:please|kindly|pls|(?:can|could|would|will) you|you to|help me(?: to)?)\s(?:please\s)?)"
_TASK = re.compile(rf"{_ASKED}(?:(?:{_WORK})\b(?!{_LIFE})|(?:{_WORK_ON})(?:{_OBJECT})|{_RENDERED})", re.I)
_ANSWERED = re.compile(r"\b(?:reply|replies|responses?)\s(?:to|for)(?:\s(?:this|that|it|him|her|them))?$", re.I)
_INVENTED = r"(?:scenes?|novel|tale|chapter|characters?|monologue|scenario|game|role|fiction)"
_ORDER = re.compile(  # "write me a packing list": the reader takes what follows such words for fiction
    rf"{_ASKED}(?:write|draft|create|generate|compose|make|design|prepare)\b"
    rf"(?!.*\b(?:{_TEXT}|{_INVENTED}|I|my|our|we)\b).*",
    re.I,
)
_TEXT_HEAD = re.compile(
    rf"\b(?:here(?:'s|’s| is| are)|this|these|that|the following|below|another)\s(?:[\w'’-]+\s){{0,3}}?{_TEXT}\b"
    rf"|\b(?:{_TEXT}|{_FORM})\s(?:out\sof|of|from|by)\b|(?:['’]s|\b(?:his|her|their))\s(?:\w+\s){{0,2}}?{_TEXT}\b",
    re.I,
)
_OWN_TEXT = re.compile(
    rf"\b(?:my|our)\s+(?:\w+\s+){{0,2}}?{_TEXT}\b|\bfrom\s+me\b|\b(?:about|of)\s+(?:me|myself|us|my\slife)\b", re.I
)
_ANNOUNCED = re.compile(  # the text that follows, after a full stop too
    rf"\b(?:following|below)(?:\s(?:[\w'’-]+\s){{0,2}}?{_TEXT}\b|\s(?:in|into|to|for)\b|$)|以下|下面|下列", re.I
)
_SPEECH = re.compile(
    r"\b(?:said|says|wrote|writes|texted|texts|told|tells|messaged|emailed|e-mailed|mailed|replied|replies|answered"
    r"|answers|asked|asks|posted|tweeted|commented|sent|announced|claims|claimed|goes|went|reads|shouted|whispered)\b",
    re.I,
)
_NO_SPEECH = re.compile(  # "the form asks for it", "Mum sent me a cake": what follows is the speaker's own
    r"(?:asks|asked)\b.*\s(?:for|about|if|whether|how|wh\w+)\b"
    rf"|(?:sent|posted|goes|went|reads|answers|answered)\s(?!.*\b(?:{_TEXT}|this)\b).*\b(?:an?|the|some|to|my|our)\b",
    re.I,
)
_BY_SPEAKER = re.compile(r"\b(?:I|we)\s+(?:\w+\s+)?$", re.I)
_FIRST = re.compile(r"\b(?:I|[Mm](?:e|y|ine)|[Ww]e|[Oo]ur|us)\b|[我咱]")
_BREAK = re.compile(r"(?P<colon>:(?=\s|[\"“‘'「])|：)[\s:：]*+|[.!?]\s+|[。！？]\s*+")
_HAN_TASK = re.compile(
    r"(?:翻译|译成|润色|校对|改写|总结|概括|摘要|缩写|扩写|改错)(?!.*我的)|(?:这|那|下面|以下)[^：:]{0,4}[话句段文信件]"
)
_HAN_SPEECH = re.compile(r"(?:说|写道|写|告诉我|问|回复|回答|发来|留言|发消息)(?:[^：:。，！？]{0,6})$")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.M)
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.M)
_FORWARDED = re.compile(
    r"^-{2,}\s*(?:original|forwarded) message\s*-{2,}|^begin forwarded message:"
    r"|^from:[^\n]+\n(?:(?:to|cc|date|sent|subject|reply-to):[^\n]*\n){1,6}",
    re.I | re.M,
)
_POINTED = re.compile(r"\b(?:above|below|this|these|following)\b", re.I)
_HEAD = 200  # characters before a colon that are looked at
_SENTENCE_END = re.compile(r"[.!?]\s+|[。！？]\s*|\n")


def in_own_words(unit: Unit) -> Unit:
    """Blank passed-on text in a user's message or note; return other units unchanged."""
    text = own_words(unit.text) if is_in_own_words(unit) else unit.text
    return unit if text == unit.text else replace(unit, text=text)


def is_in_own_words(unit: Unit) -> bool:
    """Return True if a unit is a user's message or note, and so may contain passed-on text."""
    return unit.role == "user" or is_own_note(unit)


def names_a_text(question: str) -> bool:
    """Return True if a question is about a supplied text, or about working on such a text."""
    return re.search(rf"\b(?:{_TEXT}|{_WORK}d?|s(?:aid|ay|ent))\b", question, re.IGNORECASE) is not None


def own_words(text: str) -> str:
    """Blank the parts of a text that the speaker only passes on, keeping the text's length."""
    masked = list(text)
    for span in handed_over(text):
        for at in range(span.start, span.end):
            if not masked[at].isspace():
                masked[at] = " "
    return "".join(masked)


def handed_over(text: str) -> list[Span]:
    """Return the spans of a message that contain material for a task or somebody else's words; spans may overlap.

    An order before a colon is included if the speaker's own words follow it: "Write me a packing list: I travel to
    Nome".
    """
    quotes = [*quotations(text), *(Span(*match.span()) for match in _CODE_SPAN.finditer(text))]
    found = [*_blocks(text), *_beside_a_request(text), *(one for one in quotes if _is_foreign(text, one))]
    covered = bytearray(len(text))
    for one in (*found, *quotes):
        covered[one.start : one.end] = b"\1" * (one.end - one.start)
    quote_ends = {one.start: one.end for one in quotes}
    last_own = max((match.start() for match in _FIRST.finditer(text)), default=-1)
    done = 0
    for stop in _BREAK.finditer(text):
        begin = stop.end()
        if stop.start() < done or covered[stop.start()] or begin == len(text):
            continue
        head = _head(text, stop.start())
        if not stop["colon"] and not _ANNOUNCED.search(head):
            continue
        if _is_task(head) or (_shows_text(head) and last_own >= begin):
            done = quote_ends.get(begin, len(text))
            found.append(Span(begin, done))
        elif stop["colon"] and last_own >= begin and _is_report(head):
            line = text.find("\n", begin)
            done = len(text) if line < 0 else line
            found += [Span(begin, done)] if _FIRST.search(text, begin, done) else []
        elif stop["colon"] and last_own >= begin and _ORDER.fullmatch(head):
            found.append(Span(text.rfind(head, 0, stop.start()), begin))
    return found


def _blocks(text: str) -> Iterator[Span]:
    """Yield code blocks, quoted lines and forwarded mails."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    for start, close in zip(fences[::2], [*fences[1::2], len(text)], strict=False):
        end = text.find("\n", close)
        yield Span(start, len(text) if end < 0 else end)
    yield from (Span(*match.span()) for match in _QUOTED_LINE.finditer(text))
    if forwarded := _FORWARDED.search(text):
        yield Span(forwarded.start(), len(text))


def _beside_a_request(text: str) -> Iterator[Span]:
    """Yield the text above a last line that asks for work on it, and the text below a first line that does so."""
    lead = len(text) - len(text.lstrip())
    first, last = text.find("\n", lead), text.rstrip().rfind("\n") + 1
    if last and _asks_to_work(text[last:]):
        yield Span(0, last)
    if first > 0 and _asks_to_work(text[lead:first]):
        yield Span(first, len(text))


def _asks_to_work(line: str) -> bool:
    """Return True if a line asks for work on an accompanying text: "Can you summarise this article for me?"."""
    line = line.strip()
    return len(line) <= _HEAD and _TASK.search(line) is not None and _POINTED.search(line) is not None


def _head(text: str, end: int) -> str:
    """Return the sentence before a colon, cut to the examined length."""
    near = text[max(0, end - _HEAD) : end]
    start = max((match.end() for match in _SENTENCE_END.finditer(near)), default=0)
    return near[start:].strip(" \t-*#>")


def _is_task(head: str) -> bool:
    return bool(_HAN_TASK.search(head) or _TASK.search(head) or _ANSWERED.search(head))


def _shows_text(head: str) -> bool:
    """Return True if a heading announces a text by somebody else, such as "the bio of our CEO"."""
    return bool(_TEXT_HEAD.search(head)) and not _OWN_TEXT.search(head) and not _is_said_by_speaker(head)


def _is_report(head: str) -> bool:
    if _HAN_SPEECH.search(head):
        return not head.startswith(("我说", "我写", "我告诉", "我问", "我回"))
    return bool(_SPEECH.search(head)) and not _NO_SPEECH.search(head) and not _is_said_by_speaker(head)


def _is_said_by_speaker(head: str) -> bool:
    """Return True if "I" is the subject of the last verb of speaking or sending in a heading."""
    said = [match.start() for match in _SPEECH.finditer(head)]
    return bool(said) and _BY_SPEAKER.search(head[: said[-1]]) is not None


def _is_foreign(text: str, quote: Span) -> bool:
    """Return True if a quotation uses "I" for somebody other than the speaker, or is material for a task."""
    words = text[quote.start + 1 : quote.end - 1].split()
    before = _head(text, quote.start)
    if before and _TASK.search(before) and len(words) > 1:
        return True
    if len(words) < 3 or not _FIRST.search(" ".join(words)):
        return False
    if sum(word[:1].isupper() for word in words) > len(words) / 2:
        return False  # a title: "I Know What You Did"
    after = text[quote.end : quote.end + 24]
    return not (_is_said_by_speaker(before.rstrip(" ,:")) or re.match(r",?\s+I\s+(?:\w+\s)?\w+", after))
