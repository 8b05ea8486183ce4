"""Measure how much a message adds to an earlier one: words, names, numbers and negation.

"I moved to Oslo" is close to "I moved to Paris" in every embedding, but states something else. So the words are
compared: names, numbers, negation and grammatical person must agree, and no names may have swapped positions ("from
Oslo to Paris"). Other words are ignored if they are fillers (`_EMPTY`), and match their synonyms (`_SYNONYMS`). Both
lists contain everyday English words that frame a statement, never its values: a colour, a dish, a month or a relative
has no synonym. There are no lists for other scripts, so their words must be equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from nscma_torch.core.erasable_cache import erasable_cache
from nscma_torch.reading.nouns import plural
from nscma_torch.text.capitalised import COMPARED
from nscma_torch.text.inflection import forms
from nscma_torch.text.number_words import TO_TWENTY
from nscma_torch.text.terms import terms

CONTRARY = 10.0  # news in a name, a number, a denial or another person: more than other wording ever adds up to

_SYNONYMS = """
live living reside resident residence base home house flat apartment place settle
work job employ employer employee employment company firm profession occupation trade career staff
earn livelihood wage salary income money pay living
name call know
like love enjoy fond prefer favourite favorite keen best adore
enjoy hobby pastime spare free leisure interest
finish complete done ready due deadline until submit
buy purchase get
cost price pay spend worth charge rent
rent flat apartment house landlord
month monthly
week weekly
day daily
year yearly annual age old birthday
drive car vehicle ride automobile
play instrument music musician perform
play sport practice practise train exercise game
speak talk language fluent conversation
appointment book visit see meet schedule
boss manager supervisor report chief
password passphrase passcode code log login
marry wed wedding marriage spouse husband wife couple
trip travel journey holiday vacation visit fly go tour
plan intend intention
child kid
daughter girl
son boy
mother mum mom mama
father dad papa
grandmother grandma granny
grandfather grandpa granddad
doctor physician
medicine medication drug pill prescribe dose tablet
allergy allergic react reaction intolerant
break broke broken fracture
read book novel
wear size fit shoe feet
class course lesson enroll enrol attend join learn study sign workshop
school pupil student attend
use build built base run rely work
keep hold give hand leave
birthday born birth celebrate turn
reason because cause due account why
move relocate
own have owner possess belong
eat food meal dish
drink have
morning mornings
big large huge
small tiny
glad happy pleased
fast quick rapid
ill sick unwell
begin start commence
aim goal target
film movie
phone mobile smartphone
friend mate buddy pal
colleague coworker
shop store
cash money
tired exhausted
afraid scared fear
clever smart
sad unhappy
help assist support
try attempt
choose pick select
fix repair mend
reply answer respond
gift present
exam test
teacher tutor
lawyer attorney solicitor
city town
street road
sofa couch
trousers pants
bike bicycle
laptop computer
taxi cab
suitcase luggage baggage
autumn fall
dinner supper
kitten cat
puppy dog
password wifi
"""
_EMPTY = """
actually again ago already alright always anyway basically currently ever everybody everyone exactly fact finally
hello hey hi honestly indeed kind literally lot make maybe moment much new now nowadays obviously ok okay one ones
perhaps person please present presently probably really recently right seem simply since sort still sure thing
think times today total usually way well yeah yes bit case certainly come day days course earlier every each able
need keep put take go get have do give want say said tell told mention mentioned ask remember recall reminder remind
note noted previously before earlier wrote repeat repeated like know guess suppose believe reckon middle regular
regularly choose use talk oh ah hmm
"""
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|barely|instead|except|former|"
    r"formerly|unless|any ?more|any longer|used to|after all|only|let \w+ go|g[ai]ven? up|giving up|"
    r"(?:go|goes|gone|going|went) off|\w+n['’]t|"
    r"(?:do|does|did|was|were|is|are|ca|wo|would|could|should|has|have|had)nt)\b",
    re.I,
)
_FIRST_OR_SECOND = re.compile(r"\b(?:I|[Mm](?:e|y|ine)|[Ww]e|us|[Oo]urs?|[Yy]ou|[Yy]ours?)\b")
_THIRD = re.compile(r"\b(?:he|him|his|she|hers?|they|them|theirs?)\b", re.I)
_ALSO_NAMES = re.compile(  # stop words; at the beginning of a question they are none: "Will you come?"
    r"(?:(?<=[\w,;:'’\")] )|(?<![^.!?\n])[^\S\n]*+(?=[^.!?\n]*+(?:[.!\n]|$)))(Will|May)\b"
)
_ORDERING = {  # words that say which of two things the next words are: kind of the mark
    **{"from": "source", "left": "source", "leave": "source", "leaving": "source"},
    **{"to": "goal", "into": "goal", "onto": "goal", "toward": "goal", "towards": "goal"},
    **{word: word for word in ("than", "over", "before", "after", "by", "with", "for")},
}
_WORD_OR_END = re.compile(r"[\w'’-]+|[.,;:!?()]")
_MARKED = 3  # words after an ordering word that it marks
_NUMBERS = {word: str(value) for value, word in enumerate(TO_TWENTY) if word != "one"}  # which is mostly no number
_FAMILY = 5  # letters at the start that two words of one family share: allergy, allergic


@dataclass(frozen=True, slots=True)
class Wording:
    """The features of a message's wording that are compared; all words are stems."""

    words: frozenset[str]  # neither names, numbers, nor empty
    exact: frozenset[str]  # names and numbers
    denies: bool
    ours: bool  # refers to the speakers, in the first or second person
    third: bool  # has a pronoun of the third person
    meant: frozenset[int]  # synonym groups of its words
    families: frozenset[str]  # beginnings of its words
    marked: frozenset[tuple[str, str]]  # kind of mark and word: what it is from, to, before, ..


@erasable_cache(1 << 12)
def wording(text: str) -> Wording:
    """Return the wording of a text. Capitalised words that don't begin a sentence count as names."""
    groups, empty = _lexicon()
    alike = {name.casefold() for name in _ALSO_NAMES.findall(text)}
    names = {stem for name in COMPARED.findall(text) for stem in terms(name)} | alike
    single = (stem for stem in terms(text) if "-" not in stem)  # of compounds the parts are enough
    stems = alike.union(_NUMBERS.get(stem, stem) for stem in single)
    exact = {stem for stem in stems if stem in names or any(map(str.isdigit, stem))}
    known = stems - empty | exact
    return Wording(
        frozenset(known - exact),
        frozenset(exact),
        bool(_DENIAL.search(text)),
        bool(_FIRST_OR_SECOND.search(text)),
        bool(_THIRD.search(text)),
        frozenset(group for stem in known for group in groups.get(stem, ())),
        frozenset(stem[:_FAMILY] for stem in known if len(stem) >= _FAMILY),
        frozenset((kind, stem) for kind, stem in _marks(text, alike) if stem in known),
    )


def _marks(text: str, alike: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (kind, stem) for the words after each preposition or other ordering word; the kind is that word's kind."""
    kind, left = "", 0
    for word in _WORD_OR_END.findall(text):
        plain = word.casefold()
        if plain in _ORDERING:
            kind, left = _ORDERING[plain], _MARKED
        elif not plain[0].isalnum():
            left = 0
        elif left and (stems := [plain] if plain in alike else terms(word)):
            left -= 1
            yield from ((kind, _NUMBERS.get(stem, stem)) for stem in stems)


def _turned(new: Wording, old: Wording) -> bool:
    """Return True if two names in both wordings have swapped positions: "from Rome to Paris", "from Paris to Rome"."""
    here = {kind for kind, stem in new.marked - old.marked if stem in old.words or stem in old.exact}
    return any(kind in here for kind, stem in old.marked - new.marked if stem in new.words or stem in new.exact)


def news(new: Wording, old: Wording) -> float:
    """Score the information in `new` that isn't in `old`: 1 for each unmatched word, and `CONTRARY` each for an
    unmatched name or number, negation in only one of them, a different grammatical person, and swapped positions.
    """
    added = unheard(new, old)
    contrary = len(new.exact - old.words - old.exact) + (new.denies != old.denies) + _turned(new, old)
    if new.ours and not old.ours:
        contrary += bool(unheard(old, new) or old.exact - new.exact)  # "Ana lives here", now I do
    elif new.third and not new.ours:
        contrary += old.ours and not old.third
    return added + CONTRARY * contrary


def joined(wordings: Sequence[Wording]) -> Wording:
    """Join the words of several wordings; the result is valid only for `unheard`."""
    return Wording(
        frozenset[str]().union(*(one.words for one in wordings)),
        frozenset[str]().union(*(one.exact for one in wordings)),
        any(one.denies for one in wordings),
        any(one.ours for one in wordings),
        any(one.third for one in wordings),
        frozenset[int]().union(*(one.meant for one in wordings)),
        frozenset[str]().union(*(one.families for one in wordings)),
        frozenset(),
    )


def unheard(new: Wording, old: Wording) -> int:
    """Count the words in `new` that have no match in `old`: no equal word, synonym or related word. Used by `news`."""
    groups = _lexicon()[0]
    return sum(
        old.meant.isdisjoint(groups.get(stem, ())) and stem[:_FAMILY] not in old.families
        for stem in new.words - old.words - old.exact
    )


@cache
def _lexicon() -> tuple[Mapping[str, frozenset[int]], frozenset[str]]:
    """Return the synonym groups of each stem, and the stems of fillers."""
    groups: dict[str, set[int]] = {}
    for number, line in enumerate(_SYNONYMS.strip().splitlines()):
        for stem in _stems(line):
            groups.setdefault(stem, set()).add(number)
    return {stem: frozenset(own) for stem, own in groups.items()}, _stems(_EMPTY)


def _stems(words: str) -> frozenset[str]:
    """Return the stems of all forms of the words, treating each word both as a noun and as a verb."""
    return frozenset(stem for word in words.split() for form in (*forms(word), plural(word)) for stem in terms(form))
