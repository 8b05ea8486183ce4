"""Clauses of a message that assert something, ready for the forms: contractions written out, questions left out.

What asks, supposes, wishes or doubts is no statement, nor is what stands in quotation marks. Of the speech in a
document sentences in its midst are read that tell of somebody by name, as a narrator would.

Patterns cost more than the length of what they are matched against, so a sentence of more than `LONGEST_SENTENCE`
characters and a clause of more than `LONGEST_CLAUSE` (`LONGEST_HAN` of a Chinese one) are not read: the cost of a text
is then at most proportional to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nscma_torch.reading.capitalised import NAME
from nscma_torch.reading.chinese import asserted
from nscma_torch.reading.contractions import written_out
from nscma_torch.reading.noun_phrases import AUXILIARIES, NOT_NAMES, is_noun_phrase, is_person, word_set
from nscma_torch.reading.quoted_speech import speech_in, told_within, without_speech
from nscma_torch.text.scripts import HANZI, script
from nscma_torch.text.sentences import Span, split_sentences

LONGEST_SENTENCE = 1000
LONGEST_CLAUSE = 400
LONGEST_HAN = 100

_UNREAL = re.compile(  # the whole sentence states nothing
    r"^\W*(?:(?:and|but|so|well|oh|ok|okay|even|then|still|honestly|only)\W+)*(?:if|unless|suppose|supposing"
    r"|imagine|pretend|say|had I|were I|let's say|picture"
    r"|assuming|what about|how about)\b|\b(?:I wish|wish I|if only|hypothetically|as though|as if|in another life"
    r"|used to think|who knows|supposedly"
    r"|rumou?r|rumou?rs|allegedly|(?<!^just )(?<!^only )(?:joking|kidding)|dreamt|dreamed"
    r"|(?:in|had) (?:my|a) dream|in (?:the|a|this) (?:movie|film|novel|book|story|game|show|episode|play|series)"
    r"|would (?:have|be|never|rather)|'d (?:have|be|rather|love|never)|whether|will have to travel|the day (?:I|we)"
    r"|once said)\b|^(?:they|people) say\b"
    r"|如果|要是|假如|假设|万一|倘若|但愿|听说|据说|开玩笑|梦见|梦到|差点|才不信|要不|说不定|是不是|会不会|有没有|能不能|想象|的话|除非|^等[我你他她]|^(?:请|帮我|麻烦|给我)?(?:再)?写一?[个篇首段封]|故事|小说里|电影里|剧里|翻译成|吹牛|真希望",
    re.IGNORECASE,
)
_DOUBTED = re.compile(  # a part states nothing
    r"\b(?:if|unless|maybe|perhaps|probably|possibly|almost|nearly|can not believe|not sure|no idea|(?:I|we) "
    r"(?:think|guess|believe|suppose|bet|doubt|assume|reckon|hear|heard|feel like|swear)"
    r"|seems?|claims?|claimed|joked|supposed to|pretend\w*|as long as|would not be|apparently|allegedly|presumably"
    r"|either|wonder|wondering|tempted"
    r"|says (?:that|she|he|it|they|I|there)|rumou?red|so-called|like to think|wish|hoping|as if|might|may or may "
    r"not|ask(?:ed|ing)? (?:if|for|me|him|her)|could be|technically|so to speak|metaphorically|feels like|feel like"
    r"|felt like)\b",
    re.IGNORECASE,
)
_BARE_QUESTION = re.compile(
    r"^\W*(?:(?:and|but|so|well|hey|ok|oh)\W+)*(?:who|what|when|where|why|which|how|do|does|did|is|are|can|could"
    r"|will|would|should)"
    r"\s+(?:i|you|he|she|it|they|we|the|my|your|that|this|there|'s|is|are|do|does|did|to)\b",
    re.IGNORECASE,
)

_TOLD_AS_ASKED = re.compile(  # a question in form alone
    r"^\W*(?:(?:and|but|so|well|hey|oh)\W+)*(?:did I (?:ever )?(?:mention|tell you|say)|have I (?:mentioned|told you)"
    r"|did you (?:know|hear)) that\b",
    re.IGNORECASE,
)
_WHEN = re.compile(r"^\W*(?:when|where)\s[^,?]{3,60},\s", re.IGNORECASE)  # "When you cook for me, …"
_HEDGE = re.compile(
    r"^\W*if (?:I(?:'ve| have|'m| am)? (?:remember|recall|count|counted|not mistaken|not wrong)|memory serves)"
    r"[^,]{0,30},\s*",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:and|but|so|then|well|oh|ok|okay|hey|hi|hello|yes|yeah|yep|no|nope|btw|anyway|anyways|also|fyi|psa|psst|"
    r"just so you know|just fyi|quick (?:update|note|question|heads-?up)|life update|update|good news|bad news|big "
    r"news|news|news flash|guess what|turns out|it turns out(?: that)?|change of plans?|"
    r"for the record|as you know|you know|look|listen|heads[ -]up|note(?: to self)?|reminder|remember(?: that)?"
    r"|please (?:note|remember)(?: that)?|(?:do not|don't) forget(?: that)?|"
    r"sure|right|wow|great|ugh|phew|gosh|damn|unfortunately|after that|following that|following this|thereafter"
    r"|subsequently|afterwards|afterward|later(?: on)?|next|soon|"
    r"today|yesterday|tomorrow|tonight|this (?:morning|afternoon|evening|week|month|year|weekend|spring|summer"
    r"|autumn|fall|winter)|earlier|meanwhile|in the meantime|"
    r"last (?:night|week|month|year|weekend|spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday)|the other day|a (?:few|couple of) \w+ ago|an hour ago|\w+ \w+ ago|back then|"
    r"correction|sorry|my mistake|oops|first|second|because|since then|while|although|though|plus|i mean"
    r"|i meant(?: to say)?(?: that)?"
    r"(?=[\s,:]+(?:(?:I|we|my|our|he|she|it|they|the|that)\b|[\w'-]+\s+(?:is|are|was|has)\b))"
    r"|(?:just|only) (?:kidding|joking)|to be "
    r"(?:clear|honest|precise|fair)|tbh|lol|haha|for (?:your|my) (?:information|files|records)|"
    r"i (?:told you|mentioned|said|forgot to (?:mention|say|tell you)|should (?:mention|say|add)|have to (?:say"
    r"|admit)|must (?:say|admit)|can (?:say|confirm|report|tell you))(?: that)?|(?:did|have) (?:i|you) (?:ever )?"
    r"(?:mention|tell you|say|know|hear|mentioned|told you) that|(?:keep|bear) in mind(?: that)?|"
    r"(?:it is|it's) (?:official|true|a fact)(?: that)?|i am (?:happy|glad|proud|sad|sorry|excited|pleased|afraid) "
    r"(?:to (?:say|announce|report) )?that|the thing is(?: that)?|hard to believe|believe it or not|"
    r"i (?:confirm|noticed|found out|realized|realised|learned|learnt|see)(?: that)?|the (?:good|bad|big) news "
    r"is(?: that)?|(?:the )?word is(?: that)?|"
    r"(?:you should )?(?:know|so you know)(?: that)?|like i said|as i said|as mentioned|as of (?:today|now|this \w+"
    r"|last \w+|next \w+|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may"
    r"|june|july|august|september|october|november|december)|"
    r"from (?:now|today|tomorrow) on|on a (?:different|side|related|happier|sadder) note|as far as i know|as for me"
    r"|the doctor (?:confirmed|says|said)(?: that)?|please (?:do not|don't) forget(?: that)?|which is why|that is "
    r"why|"
    r"in case (?:you|anyone|someone|somebody|support) (?:wonders?|asks?|needs? it|is wondering|were wondering"
    r"|forgot|missed it|had not \w+))(?:\s*[,:!.–—-]+\s*|\s+))+",
    re.IGNORECASE,
)
_SUBJECT = r"(?:I|you|he|she|it|we|they|there|my|our|his|her|their|your|the|this|that)"
_ADVERBIAL = re.compile(
    r"^(?i:since|in|on|by|from|until|last|next|this|after|before|for|at|during|every|with|as of|thanks to|about"
    r"|despite|as|like|starting|because of|due to|instead of|within|over|once|when|while)\s"
    rf"(?:[^,]{{1,70}}?,\s+(?=[\w'’-]+\s)(?!(?:and|or|but)\b)|[^,]{{1,45}}?\s+(?=(?:I|we|he|she|they|it)\s"
    rf"|(?:{NAME}\s+){{1,3}}(?:is|has|was|are|had|will)\s))",
)
_CONDITION = re.compile(
    r"^(?:which|in case|when|while|once|before|after|as soon as|every time|whenever)\b", re.IGNORECASE
)
_VOCATIVE = re.compile(
    rf"^(?:(?:hi|hey|hello|dear|ok|okay|so|thanks|sorry)\s+)?({NAME})(?:,\s+|\s*[:!]\s+)(?=(?:you|your|the|I|we|my"
    rf"|our|can|could|it|please|do not|don't|this|that|there|just)\b)"
)
_VERB_AHEAD = r"(?:is|are|was|were|has|have|had|will|am|did|does|do|can|used|went|got|said|\w{2,}ed|\w+s)"
_SPLIT = re.compile(
    r"\s*;\s*|,\s+which (?:is why|means(?: that)?)\s+|,\s+(?=which\s)|\s+[–—-]+\s+|\s*(?:[–—]|--)\s*|:\s+(?=[A-Z]|it\b"
    r"|the\b|my\b|he\b|she\b|we\b)|\s*\((?=\w)|\)\s*"
    rf"|,?\s+(?:and|but|so|while|because|although|though|whereas|yet|then|which means|and then|until|so that"
    rf"|since)\s+(?={_SUBJECT}\s(?!(?:summer|spring|autumn|fall|winter|merger|reshuffle|move|start|end"
    rf"|beginning)\b))"
    r"|,?\s+(?:but|so|because|although|though|whereas|hence)\s+"
    r"|,\s+(?:and|or|so)\s+(?=(?:now|since|last|then|still)\s)"
    rf"|,\s+(?={_SUBJECT}\s+[\w'-]+)"
    r"|,\s+(?=(?:since|as of|lately|today|yesterday|this|last|now|then|after)\s(?:[\w'-]+\s){0,4}?(?:it|I|we|he|she"
    r"|they)\s)"
    rf"|,\s+(?:and|so)\s+(?=(?:the|[A-Z]\w+)\s+(?:\w+\s+){{0,3}}?{_VERB_AHEAD}\s)"
    rf"|,\s+(?:and|but|so)\s+(?=(?:\w+\s+){{0,3}}?(?:is|are|was|has|have|had|will|am|did|does)\s)"
    rf"|,\s+(?={NAME}\s+(?:is|has|was|will|had|works|lives|now|just|no longer|does|did)\s)"
    r"|,\s+(?=(?:the|my|our)\s+\w+\s+(?:is|are|was|has)\s)"
    rf"|\s+and\s+(?=(?:the|[A-Z]\w+)\s+(?:is|was|has|will|does|did|no longer)\s)",
)
_RELATIVE = re.compile(r"^(?P<head>[^,]{2,50}?)(?:,\s+|\s+)who\s+(?P<rest>[^,]+)(?:,\s*(?P<main>.+))?$")
_APPOSITION = re.compile(
    rf"^(?P<head>{NAME}(?:\s+{NAME})?),\s+(?P<what>(?:a|an|the|our|my)\s[^,]{{2,40}}|\d{{1,3}}),\s+(?P<main>.+)$"
)
_CALLED = re.compile(rf"\b(?P<what>(?:a|an)\s+(?:[\w-]+\s+){{0,2}}?[\w-]+)\s+(?:called|named)\s+(?P<name>{NAME})")
_CJK_SPLIT = re.compile(r"[，,；;。！!：～~\n]+|:(?!\d)|(?:但是|不过|所以|因为|而且|然后|但)")
_CORRECTS = re.compile(
    r"\b(?:correction|i (?:misspoke|was wrong|was mistaken|meant|made a mistake|mixed up|got that wrong)|scratch "
    r"that|wait,? no|my mistake"
    r"|not .{1,30} (?:as|like) i said|(?:just|only) (?:kidding|joking)|mistyped|typo)\b"
    r"|更正|说错了|记错了|纠正|搞错了|口误",
    re.IGNORECASE,
)
_FILLERS = 2  # words beside a sign of correction that state nothing: "Sorry", a lone mark
_HAN_CALLED = re.compile(
    rf"(?<=[{HANZI}])[，,](?:(?:它的?|他的?|她的?)?(?:名字|名)叫|(?<=[只条匹][{HANZI}]{{2}}[，,])叫)"
)
_HAN_QUESTION = re.compile(r"(?!.*[还才可正][^，,]*呢\W*$).*[吗呢么]\W*$", re.DOTALL)
_HAN_FIRM = re.compile(
    r"一家[^，,。]*?(?:公司|店|工作室|学校|医院|律所|餐厅|酒店)(?P<rest>[^，,。]{0,4})[，,](?:名字)?叫(?P<name>[^，,。！!\s]{2,12})"
)
_JOINED = word_set("born go went gone come came try tried up")  # "born and raised", "went and bought"
_BE_OR_HAVE = word_set("am is are was were has have do does will can used no")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause, written out; `start`, `end` and `sentence` are those of its sentence. `listener`: who is addressed."""

    text: str
    start: int
    end: int
    sentence: str
    cjk: bool = False
    correction: bool = False
    listener: str = ""


def corrects(sentence: str) -> bool:
    """Whether a sentence says that what was said before was wrong."""
    return bool(_CORRECTS.search(sentence))


def clauses(text: str, verbs: frozenset[str], *, document: bool = False) -> list[Clause]:
    """The asserting clauses in order. A part that begins with a verb of `verbs` shares the subject of the last."""
    found: list[Clause] = []
    speech = speech_in(text)
    masked = without_speech(text, speech)
    carried = False  # a sentence that only says that it corrects: "Sorry, my mistake."
    spans = [(span, masked) for span in _sentences(masked)]
    if document:
        spans += [(span, text) for own in speech for span in told_within(text, own, verbs)]
    for span, source in sorted(spans, key=lambda pair: pair[0].start):
        if span.end - span.start > LONGEST_SENTENCE:
            carried = False
            continue
        sentence = _HEDGE.sub("", " ".join(source[span.start : span.end].replace("’", "'").split()))
        cjk = script(sentence) == "cjk"
        without = _CORRECTS.sub(" ", sentence)
        corrects = carried or without != sentence
        carried = without != sentence and len(without.split()) <= _FILLERS
        sentence = _TAG.sub(".", sentence)
        if _is_question(sentence) or _UNREAL.search(sentence):
            continue
        vocative = _VOCATIVE.match(sentence)
        listener = vocative[1] if vocative and vocative[1].lower() not in NOT_NAMES else ""
        said = sentence[vocative.end() :] if vocative and listener else sentence
        parts = _han_parts(said) if cjk else _parts(said, verbs)
        found += [
            Clause(part, span.start, span.end, sentence, cjk, corrects, listener)
            for part in parts
            if "\x00" not in part
            and any(map(str.isalnum, part))
            and len(part) <= (LONGEST_HAN if cjk else LONGEST_CLAUSE)
        ]
    return found


_NAMED = re.compile(r"(?<=\w )(?:Max|Al|Ed)\.(\s+)(?=[A-Z])")


def _sentences(text: str) -> Iterator[Span]:
    """Sentences; one ends with "Max.", "Al." and "Ed.", too, which may be abbreviations elsewhere, before a capital."""
    for span in split_sentences(text):
        start = span.start
        for name in _NAMED.finditer(text, start, span.end):
            yield Span(start, name.start(1))
            start = name.end()
        yield Span(start, span.end)


_TAG = re.compile(
    r",?\s+(?:can you believe (?:it|that)|would you believe it|right|you know|huh|innit|remember|ok|okay)\s*\?+\s*$",
    re.IGNORECASE,
)


def _han_parts(sentence: str) -> list[str]:
    named = _HAN_FIRM.sub(r"\g<name>\g<rest>", _HAN_CALLED.sub("叫", sentence))
    return asserted([part.strip() for part in _CJK_SPLIT.split(named)])


def _is_question(sentence: str) -> bool:
    if _TOLD_AS_ASKED.match(sentence):
        return False
    asks = sentence.rstrip("\"'”)] ").endswith(("?", "？"))
    bare = _BARE_QUESTION.match(sentence) and not _WHEN.match(sentence)
    return asks or bool(bare) or bool(_HAN_QUESTION.match(sentence))


def _parts(sentence: str, verbs: frozenset[str]) -> list[str]:
    parts: list[str] = []
    text = _AND_I.sub(r"\1 & \2", written_out(sentence).rstrip(" .!…\"'”"))
    for part in _apart(text, verbs):
        for one in _coordinated(part, verbs):
            parts += _unfolded(one.replace(" & ", " and "))
    return [part for part in parts if part and not _DOUBTED.search(part) and not _CONDITION.match(part)]


def _apart(text: str, verbs: frozenset[str]) -> list[str]:
    """Split between clauses, not within a row of nouns: "the swing, the shed and the sandpit"."""
    out, begin = [], 0
    for match in _SPLIT.finditer(text):
        left = text[begin : match.start()]
        if match[0].strip() == "and" and _BETWEEN.search(left):
            continue
        if match[0].strip() in (",", "and", ", and") and _BARE_NOUNS.fullmatch(left) and not _has_verb(left, verbs):
            continue
        out.append(left)
        begin = match.end()
    return [*out, text[begin:]]


def _has_verb(text: str, verbs: frozenset[str]) -> bool:
    return any(word in verbs or word in AUXILIARIES for word in text.lower().split())


_AND_I = re.compile(
    rf"(?:^|(?<=[,;.:] ))((?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er)\s[\w-]+(?:\s{NAME})?|{NAME}(?:\s{NAME})?) and (I|me|he|she"
    rf"|you)\b"
)
_BETWEEN = re.compile(r"\bbetween [\w'-]+(?: [\w'-]+)?$")
_BARE_NOUNS = re.compile(r"(?:(?:the|my|our|his|her|both|a|an)\s[\w'-]+(?:\s[\w'-]+)?(?:,\s*)?)+", re.IGNORECASE)
_JOINT = re.compile(
    r",?\s+(?:and|but|then|and then)\s+(?:(?:recently|now|then|never)\s+)?(?=([\w']+)(?:\s|$))|,\s+(?=([\w']+)\s)"
)


PREDICATE = re.compile(
    r"(?:not\s+)?(?:allergic|vegan|vegetarian|pescatarian|gluten-free|dairy-free|married|engaged|divorced|fluent"
    r"|born|based|diagnosed|off to|back in|retired)\b",
    re.IGNORECASE,
)
_COPULA = re.compile(r"\b(?:am|is|are|was|were|been|be)\b|['’](?:m|s|re)\b", re.IGNORECASE)


def _coordinated(part: str, verbs: frozenset[str]) -> list[str]:
    """Split at "and", or a comma, where a verb follows: "I live in Oslo and work at Bosch"."""
    out, begin = [], 0
    for match in _JOINT.finditer(part):
        following = (match[1] or match[2]).lower()
        left = part[begin : match.start()]
        if (left.lower().split()[-1:] and left.lower().split()[-1] in _JOINED) or (
            match[2] and not _has_verb(left, verbs)
        ):
            continue
        stated = PREDICATE.match(part, match.end()) and _COPULA.search(left)  # "I am vegan and allergic to nuts"
        if stated or following in verbs or following in _BE_OR_HAVE or (match[2] and following.endswith("ing")):
            out.append(part[begin : match.start()])
            begin = match.end()
    return [*out, part[begin:]]


def _unfolded(part: str) -> list[str]:
    """A clause without its introduction; "Anna, who works at Bosch, lives in Oslo" and the like as two."""
    text = part.strip(" ,.!\"'")
    for _ in range(3):
        shorter = _LEAD.sub("", _ADVERBIAL.sub("", _LEAD.sub("", text))).strip(" ,")
        if not shorter or shorter == text:
            break
        text = shorter
    called = [f"{match['name']} is {match['what']}" for match in _CALLED.finditer(text)]
    relative = _RELATIVE.match(text)
    if relative is not None and not relative["head"].lower().endswith(
        (" someone", " people", " one", " those", " anyone", " everyone")
    ):
        return [
            f"{relative['head']} {relative['rest']}",
            *([f"{relative['head']} {relative['main']}"] if relative["main"] else []),
            *called,
        ]
    apposed = _APPOSITION.match(text)
    if apposed is not None and apposed["main"].split()[0].lower() not in ("and", "or"):
        return [f"{apposed['head']} is {apposed['what']}", f"{apposed['head']} {apposed['main']}", *called]
    return [text, *called]


_HEAD = re.compile(r"(?:the|my|our|your|his|her|their|this|I|we|you|he|she|they|[A-Z][\w-]+)\b", re.IGNORECASE)


_BARE_DETERMINERS = word_set("the my our your his her their this")


def head_noun_phrase(text: str, verbs: frozenset[str]) -> str:
    """The noun phrase that a clause begins with, up to its verb: a later "it" may mean it. "" where there is none."""
    words = text.split()
    lowered = [word.lower() for word in words[:9]]
    helping = next((i for i, word in enumerate(lowered) if i and word in AUXILIARIES), 0)
    if helping and is_noun_phrase(" ".join(words[:helping])):
        return " ".join(words[:helping])
    for i, word in enumerate(lowered):
        if (
            i
            and " ".join(lowered[:i]) not in _BARE_DETERMINERS
            and (word in AUXILIARIES or (word in verbs and not word.endswith("ing")))
        ):
            phrase = " ".join(words[:i])
            return phrase if _HEAD.match(phrase) and "," not in phrase else ""
    return words[0] if len(words) > 2 and is_person(words[0]) and words[1].endswith(("s", "ed", "set")) else ""
