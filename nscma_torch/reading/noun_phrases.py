"""English noun phrases: determiners, and word lists grouped by possible meaning."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())


PRONOUNS = word_set("i you he she it we they me him her us them myself yourself")
_KIN = """
mother father mom mum mommy mama mam dad daddy papa parents stepmother stepfather stepmom stepdad son daughter kid child
stepson stepdaughter baby toddler eldest youngest sister brother twin half-sister half-brother stepsister stepbrother
wife husband spouse hubby girlfriend boyfriend partner fiancé fiancée fiance fiancee grandmother grandfather grandma
grandpa granny gran nan nana grandad granddad aunt auntie uncle cousin niece nephew mother-in-law father-in-law
sister-in-law brother-in-law grandson granddaughter godmother godfather son-in-law daughter-in-law friend buddy mate pal
bestie colleague coworker co-worker teammate workmate boss manager supervisor roommate flatmate housemate
"""
KIN_NOUNS = "|".join(sorted(map(re.escape, _KIN.split()), key=len, reverse=True))  # and friends and colleagues
_OTHER_PERSONS = (
    "doctor|dentist|teacher|neighbour|neighbor|landlord|landlady|therapist|coach|tutor|trainer|intern|assistant"
    "|lawyer|ex|client|accountant|vet|hairdresser|nanny"
    "|professor|student|apprentice|carer|physio|classmate|guest|team leader|team lead|cto|ceo"
)
PERSON_NOUNS = (*_KIN.split(), *_OTHER_PERSONS.split("|"))
PERSON_NOUN = re.compile(rf"(?:{KIN_NOUNS}|{_OTHER_PERSONS})\b", re.IGNORECASE)
NO_THING = word_set(
    """it that this them those these everything nothing something anything someone anyone everyone one ones lot lots
    bit all both time fun idea point problem way day days feeling chance moment look doubt question reason trouble
    turn thing things stuff nothing minute second while blast good bad great nice better best sense place break care
    part more less much many few enough any none kind sort two three side look hard plenty others another each other
    what how why who where when there here home"""
)
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
    exactly especially tons realizing being having doing making getting going seeing knowing learning playing
    working difficult hard amazing awesome cool nice wonderful beautiful interesting music art family friends nature"""
)
DETERMINERS = word_set("the a an my our your his her its their")
_DETERMINER = re.compile(
    r"^(?:(?:a|one|another) (?:pair|couple|bit|lot|piece|kind|sort) of|lots of|plenty of|one of|some of|such an?"
    r"|quite a|the|a|an|some|any|this|that|these|those|both|all|another|only"
    r"|about|around|roughly|exactly|almost|nearly|brand[- ]new|new|my own|our own|probably|back|mostly|going|so|too"
    r"|quite|right|pretty|fluent|conversational|basic|decent|perfect)\s+",
    re.IGNORECASE,
)
_CAPITAL_DETERMINERS = word_set("the an this that these those some both all any")


def bare(phrase: str, *, keep: tuple[str, ...] = ()) -> str:
    """Strip determiners and fillers from the beginning of a phrase."""
    while True:
        match = _DETERMINER.match(phrase)
        if match is None or match[0].strip().lower() in keep or len(match[0]) == len(phrase):
            return phrase
        if match[0][0].isupper() and match[0].strip().lower() not in _CAPITAL_DETERMINERS:  # "New Yorker", "A negative"
            return phrase
        phrase = phrase[match.end() :]
