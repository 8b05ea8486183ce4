"""Noun phrases of a clause: where an object ends, and whether it can be what a relation asks for."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from nscma_torch.reading.capitalised import NAME
from nscma_torch.relations import Kind, Shape
from nscma_torch.text.dates import MONTH
from nscma_torch.text.number_words import LARGER, TO_TWENTY


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


AUXILIARIES = word_set(
    """am is are was were be been being has have had do does did will would can could shall should may might must used
    not never"""
)
PRONOUNS = word_set("""i you he she it we they me him her us them myself yourself""")
KIN = {
    "parent": "mother father mom mum mommy mama mam dad daddy papa parents stepmother stepfather stepmom stepdad",
    "child": "son daughter kid child stepson stepdaughter baby toddler eldest youngest",
    "sibling": "sister brother twin half-sister half-brother stepsister stepbrother",
    "married_to": "wife husband spouse hubby",
    "partner": "girlfriend boyfriend partner fiancé fiancée fiance fiancee",
    "relative": "grandmother grandfather grandma grandpa granny gran nan nana grandad granddad aunt auntie uncle cousin"
    " niece nephew"
    " mother-in-law father-in-law sister-in-law brother-in-law grandson granddaughter godmother godfather "
    "son-in-law daughter-in-law",
    "friend": "friend buddy mate pal bestie",
    "colleague": "colleague coworker co-worker teammate workmate",
    "manager": "boss manager supervisor",
    "roommate": "roommate flatmate housemate",
}
KIN_RELATION = {noun: relation for relation, nouns in KIN.items() for noun in nouns.split()}
KIN_NOUNS = "|".join(sorted(map(re.escape, KIN_RELATION), key=len, reverse=True))
OTHER_PERSONS = (
    "doctor|dentist|teacher|neighbour|neighbor|landlord|landlady|therapist|coach|tutor|trainer|intern|assistant"
    "|lawyer|ex|client|accountant|vet|hairdresser|nanny"
    "|professor|student|apprentice|carer|physio|classmate|guest|team leader|team lead|cto|ceo"
)
PERSON_NOUN = re.compile(rf"(?:{KIN_NOUNS}|{OTHER_PERSONS})\b", re.IGNORECASE)
_NAMES = re.compile(rf"{NAME}(?:\s+(?:(?:of|de|van|von|der|den|la|le|al|bin|the|and|&|du|da|di)\s+)*{NAME})*")

_NUMBER_WORD = f"(?:{'|'.join((*TO_TWENTY, *LARGER))})"
_SPELL = (  # how long, which is no part of a place: "in Amsterdam another four years"
    rf"(?:another|(?:an? )?few|\d+|{_NUMBER_WORD})(?: (?:more|\d+|{_NUMBER_WORD}))* "
    r"(?:days?|weeks?|months?|years?|decades?)"
)
_ALWAYS = (
    r"[,;()\x00]|(?<!\bSt)(?<!\bMt)(?<!\bFt)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)\.\s|\s[–—-]+\s|:\s"
    r"|(?<!-)\b(?:because|since|when|whenever|after|before|until|till|so|but|although|though|while|whereas|which|who|whom"
    r"|whose|where"
    r"|(?:I|we|you|he|she|they)\s|without|until|among|the other day|twice|early"
    r"|(?:two|three|four|five|six|ten|many|most|few|several|some|all|\d+) times"
    r"|straight away|online|for free|on the side"
    r"|now|these days|nowadays|any ?more|any longer|again|too|as well|already|currently|right now|at the moment|for "
    r"now|at present"
    r"|at last|lately|recently|instead|then|finally|if|unless|this (?:week|month|year|morning|afternoon|evening"
    r"|summer|winter"
    r"|spring|autumn|fall|weekend|time)|(?:last|next|past) \w+|yesterday|today|tomorrow|tonight|\w+ (?:days?|weeks?"
    r"|months?|years?) ago|"
    r"ages ago|long ago|a while|every single|thanks to|due to|apparently|actually|honestly|obviously|by the way|btw"
    r"|as of|as from|"
    r"starting|these|once|ever|than|despite|except|rather|either|anyway|though|lol|haha|permanently|full-time"
    r"|part-time|altogether|"
    r"(?:on|this|last|next|since) (?:mon|tues|wednes|thurs|fri|satur|sun)day\w*|"
    r"(?:in|since|around|during|by|until|till|before|after) (?:(?:early|late|mid)[ -])?(?:january|february|march"
    r"|april|may|june|july|august"
    r"|september|october|november|december|spring|summer|autumn|fall|winter|(?:19|20)\d\d|then)"
    rf"|on (?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH})(?! (?:street|road|lane|avenue|drive|close|way)\b)"
    rf"|(?:{MONTH}) \d{{1,2}}(?:st|nd|rd|th)?|\d{{4}}-\d\d-\d\d"
    r"|\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?|\d{1,2}(?:st|nd|rd|th)(?=[\s.!]*$))|in the (?:meantime"
    r"|end|morning|evening|afternoon)"
    r"|for (?:the )?(?:\w+ )?(?:\w+ )?(?:days?|weeks?|months?|years?|decades?|ages|good|long|now|ever|while"
    r"|sure))\b(?!-)"
)
_CUTS: dict[str, str] = {  # words that end a phrase of this shape
    "person": r"and|with|for|from|in|at|on|as|to|over|by|is|was|about|of",
    "place": rf"{_SPELL}|and|with|for|as|from|to|by|that|is|or|alone|together|via|about|over|doing|working|studying",
    "group": r"and(?=\s+[a-z])|with|for|in|at|as|from|to|on|by|that|is|doing|over|about|under|or|near",
    "thing": r"with|for|from|in|at|as|by|that|on|is|are|to|called|named|like|since|during|over|about|next|behind"
    r"|under|into|because|more than|there|every",
    "name": r"and|with|for|from|in|as|by|on|is|at|but|after|or",
    "number": r"and|with|for|from|in|at|as|on|by|to|that|of|or|including|already",
    "date": r"and|with|because|for|in (?:the|my|our)|as|from|that|to (?:make|give|allow|leave)",
    "trait": r"and(?= (?:the|my|I|we|it)\b)|for|in|as|by|that|at|on|to|with|from|about|of|like|or",
    "title": r"and(?= (?:the|my|I|we|it)\b)|for|in|at|by|that|to|with|from|about|like|or|on",
    "deed": r"and (?:then|I|we|my)|that|as soon as",
    "any": r"and (?:then|I|we|my|it)|that|for|from|as",
}
NO_THING = word_set(
    """it that this them those these everything nothing something anything someone anyone everyone one ones lot lots
    bit all both time fun idea point problem way day days feeling chance moment look doubt question reason trouble
    turn thing things stuff nothing minute second while blast good bad great nice better best sense place break care
    part more less much many few enough any none kind sort two three side look hard plenty others another each other
    what how why who where when there here home"""
)
_NO_PLACE = word_set(
    """mind love trouble touch hurry charge general fact particular case order time pain shock line tears bed work it
    that this them public private progress bits person theory practice principle doubt danger fashion control short
    total peace sync contact question sight view front middle meeting meetings mood moment past future world dark
    end way lead air loop zone life head plan plans works sleep fine something anything one same hope fear silence
    advance full detail turn place sum spite town"""
) - {"town"}


_NO_SUBJECT = AUXILIARIES | word_set(
    """that if because there what who whom whose which where when why how i me we us you he him she they them it and or
    but so than then too as to just no yes not let lets please thanks thank maybe think thought know knew said say
    says tell told feel felt guess hope looks look seems went goes got gets gave made came took put saw hear heard
    want wanted like liked go every while until since though although everything something nothing anything everyone
    everybody someone somebody anyone nobody one ones lot"""
)
_LINKS = word_set("""of for in on with at from to by""")
_DETERMINED = re.compile(
    r"(?i:the|my|our|your|his|her|their|its|this|that|these|those|a|an|all|some|one|two|three|both|no)\s"
    r"|[A-ZÀ-ÞŁŚŠŽČŐĐİ\d]|user's"
)


_INSIDE = re.compile(r"\s(?:of|for|in|on|with|at|from|across|behind|under|next to)\s")


def head_of(phrase: str) -> str:
    """A noun phrase without what follows its noun: "the house" of "the house across the street"."""
    return _INSIDE.split(phrase, maxsplit=1)[0]


DETERMINERS = word_set("the a an my our your his her its their")
_BEFORE_BARE = _LINKS | word_set("and or nor all both half across behind under next around near over beside")


def is_noun_phrase(phrase: str) -> bool:
    """Whether words look like a noun phrase that can be a subject: no verb, no pronoun, no more than a few words."""
    words = phrase.lower().split()
    if not words or len(words) > 8 or words[0] in _LINKS or "," in phrase or words[-1] in _LINKS:
        return False
    if len(words) == 1:
        return (
            words[0] not in _NO_SUBJECT
            and words[0] not in NOT_NAMES
            and not (phrase.endswith("ed") and phrase.islower())
        )
    if any(b in DETERMINERS and a not in _BEFORE_BARE for a, b in pairwise(words)):  # "Kofi finished his master's"
        return False
    head = words[1:] if words[0] == "that" else words
    if len(head) > 2 and head[-1] == "can":  # "the oil can"
        head = head[:-1]
    return not any(word in _NO_SUBJECT for word in head if word != "and") and (
        bool(_DETERMINED.match(phrase)) or len(words) <= 3
    )


@cache
def _boundary(shape: Shape) -> re.Pattern[str]:
    return re.compile(rf"{_ALWAYS}|(?<!-)\b(?:{_CUTS[shape]})\b(?!-)", re.IGNORECASE)


def cut(text: str, kind: Kind) -> str:
    """The beginning of `text` that can be an object of this kind, without its determiner where it is a thing's."""
    match = _boundary(kind.like).search(text, 1 if text else 0)
    phrase = text[: match.start()] if match else text
    return _LOOSE_END.sub("", phrase).strip(" .,!?\"'“”…")


def runs_on(text: str, kind: Kind) -> bool:
    """Whether behind the beginning that can be an object another clause comes: "Sofia is leaving, Kenji"."""
    match = _boundary(kind.like).search(text, 1 if text else 0)
    rest = text[match.start() :] if match else ""
    return "," in rest or not _CLAUSAL.isdisjoint(rest.lower().split())


_CLAUSAL = AUXILIARIES | PRONOUNS
_LOOSE_END = re.compile(r"\s+(?:and|or|but|a|an|the)\s*$", re.IGNORECASE)
_DETERMINER = re.compile(
    r"^(?:(?:a|one|another) (?:pair|couple|bit|lot|piece|kind|sort) of|lots of|plenty of|one of|some of|such an?"
    r"|quite a|the|a|an|some|any|this|that|these|those|both|all|another|only"
    r"|about|around|roughly|exactly|almost|nearly|brand[- ]new|new|my own|our own|probably|back|mostly|going|so|too"
    r"|quite|right|pretty|fluent|conversational|basic|decent|perfect)\s+",
    re.IGNORECASE,
)
_DETERMINERS = word_set("the a an my our your his her its their this that these those some any")
_CAPITAL_DETERMINERS = word_set("the an this that these those some both all any")
_OWNER = re.compile(r"^(?:my|our|your|his|her|their|its)\s+", re.IGNORECASE)


def bare(phrase: str, *, keep: tuple[str, ...] = ()) -> str:
    """A phrase without determiners and fillers at its beginning."""
    while True:
        match = _DETERMINER.match(phrase)
        if match is None or match[0].strip().lower() in keep or len(match[0]) == len(phrase):
            return phrase
        if match[0][0].isupper() and match[0].strip().lower() not in _CAPITAL_DETERMINERS:  # "New Yorker", "A negative"
            return phrase
        phrase = phrase[match.end() :]


def without_owner(phrase: str) -> str:
    """A phrase without the possessive at its beginning."""
    return _OWNER.sub("", phrase)


_FINITE = re.compile(
    r"\s(?:is|are|was|were|am|has been|have been|will be|means|makes|keeps?|gives?|gave|made)\b", re.IGNORECASE
)


def fits(phrase: str, kind: Kind) -> bool:
    """Whether a phrase (cut, still with its determiner) can be what a relation takes."""
    words = phrase.split()
    if not words or len(words) > (14 if kind.like in ("deed", "place") else 8):
        return False
    core = bare(_OWNER.sub("", phrase)).lower()
    if (
        not core
        or core in _DETERMINERS
        or (core in PRONOUNS and kind.like not in ("person", "any"))
        or _FINITE.search(phrase)
    ):
        return False
    listed = kind.whole and core in kind.words  # "on hold" is a state, though it begins like no thing
    return (listed or _shaped(phrase, core, kind.like)) and kind.admits(phrase, core)


_NO_BEGINNING = PRONOUNS | word_set(
    """been to not no and or but for of with in on at from by than so because more most less really just how when
    while if being as through cause 'cause like also well about without both was were"""
)
_SECOND_DETERMINER = re.compile(r"[\w-]+ (?:the|my|our|your|his|her|their|a|an|it|them|me|us)\b", re.IGNORECASE)


def _shaped(phrase: str, core: str, shape: Shape) -> bool:
    words, last = phrase.split(), core.split()[-1]
    match shape:
        case "person":
            return is_person(phrase)
        case "place":
            if core.split()[0] in _NO_PLACE or core in _NO_PLACE or last in PRONOUNS:
                return False
            return (
                bool(_NAMES.search(phrase)) or bool(_DETERMINER.match(phrase) or _OWNER.match(phrase)) or core == "home"
            )
        case "name":
            return bool(_NAMES.match(bare(phrase))) and words[0] != "I"
        case "group":
            return bool(_NAMES.search(phrase)) or (bool(re.match(r"(?:a|an|the|my|our)\s", phrase, re.I)))
        case "number":
            return is_number(core)
        case "thing" | "any" if _SECOND_DETERMINER.match(core):
            return False
        case "thing" | "any":
            return last not in NO_THING and core.split()[0] not in _NO_BEGINNING and core[0] not in "'’"
        case "title" if _OWNER.match(phrase) and last in KIN_RELATION:
            return False
        case "trait" | "title":
            return len(words) <= 5 and core.split()[0] not in NO_THING | {"not", "going", "so", "like"}
        case _:
            return True


NOT_NAMES = word_set(
    """just tastes sounds looks seems feels careful so sure sorry thanks thank please everybody everyone somebody
    nobody nothing something everything someone anyone all both some most many no not never always also only even
    still there here that this these those what who why when where how today tomorrow yesterday monday tuesday
    wednesday thursday friday saturday sunday january february march april june july august september october
    november december christmas easter half best good great love lunch dinner breakfast work life time people
    congrats congratulations happy ok okay yes hi hey hello dear oh wow firmware one two three four five six seven
    eight nine ten if but and got been was is are had has have did do does can will would could should may might
    must really actually honestly luckily hopefully definitely absolutely totally basically seriously obviously
    apparently recently lately currently usually normally finally eventually probably unfortunately fortunately
    exactly especially tons realizing being having doing making getting going seeing knowing learning playing working
    difficult hard amazing awesome cool nice wonderful beautiful interesting music art family friends nature"""
)


def is_person(phrase: str) -> bool:
    """A pronoun of a person, a name, or a kin noun with its owner."""
    plain = phrase.strip()
    if plain.split() and plain.split()[0].lower() in NOT_NAMES:
        return False
    if plain.lower() in PRONOUNS - {"it", "they", "them"}:
        return True
    head = plain.rsplit("'s ", 1)[-1]  # "my sister's name" is a name
    if PERSON_NOUN.search(head) and len(plain.split()) <= 6 and _NO_SUBJECT.isdisjoint(plain.lower().split()):
        return bool(
            re.match(rf"(?:my|our|your|his|her|their|the|user's|{NAME}'s)\b|{PERSON_NOUN.pattern}", plain, re.I)
        )
    if "I" in plain.split() or (len(plain) > 6 and plain.endswith("ing") and " " not in plain):  # "Blogging"
        return False
    return bool(re.fullmatch(rf"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+)?{NAME}(?:\s+{NAME}){{0,3}}", plain))


def is_number(text: str) -> bool:
    """Digits, a price, or a number in words."""
    return bool(
        re.match(rf"(?:[$€£¥#]|EUR|USD|about |around |over )?\s*\d|{_NUMBER_WORD}(?:[ -]{_NUMBER_WORD})*\b", text, re.I)
    )


def split_list(phrase: str) -> list[str]:
    """Members of "peanuts, eggs and shellfish"; a phrase without a conjunction is one."""
    if not re.search(r"\s(?:and|or|&|plus)\s", phrase):
        return [phrase.split(",")[0].strip()]
    return [part.strip() for part in re.split(r"\s*,\s*(?:and|or)?\s*|\s+(?:and|or|&|plus)\s+", phrase) if part.strip()]


_POSSESSIVES = {
    "my": "I",
    "our": "we",
    "your": "you",
    "his": "he",
    "her": "she",
    "its": "it",
    "mine": "I",
    "yours": "you",
}


def unpossessed(phrase: str) -> str:
    """The owner that a possessive alone means: "my" is I, "Ben's" is Ben."""
    plain = phrase.strip()
    if plain.lower() in _POSSESSIVES:
        return _POSSESSIVES[plain.lower()]
    return plain[:-2] if plain.endswith("'s") else plain
