"""The notation in which `configs/relations.toml` states a relation, and its matching against clauses.

A form is a row of tokens: `S` subject, `O` object, `R` the object that held before, `T` topic, `A` somebody of no
account; `O:kind` (or S, R) another kind than the relation's; `~live` or `~(live|reside)` a verb in any
inflection, with its auxiliaries and adverbs; `(a|b)` alternatives; `[x]` an option; `_` a word, `*` some words;
all else is itself. "S ~move from R to O". In Chinese `~` stands before a verb for negation and adverbs, and
nothing is inflected: "S~住在O".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from nscma_torch.erasable_cache import erasable_cache
from nscma_torch.reading import inflection
from nscma_torch.reading.capitalised import NAME
from nscma_torch.reading.chinese import ADVERBS
from nscma_torch.relations import Relation, Schema, Wordings

Mood = Literal["states", "begins", "ends"]

_BE = {
    "am": "third",
    "is": "third",
    "are": "third",
    "was": "past",
    "were": "past",
    "been": "participle",
    "being": "ing",
    "be": "base",
}
_AUXILIARY = (
    r"(?:am|is|are|was|were|be|been|being|have|has|had|having|do|does|did|will|shall|would|could|might|may|should"
    r"|must|can|cannot|used to"
    r"|going to|want to|wants to|plan to|plans to|hope to|hopes to|need to|needs to|have to|has to|about to|try to"
    r"|trying to|tried to|like to|love to"
    r"|get to|got to|decided to|managed to|started|began|begun|stopped|quit|given up|gave up|keep|kept|not|never|no "
    r"longer"
    r"|now|just|also|still|currently|recently|finally|always|already|only|really|actually|officially|probably|even"
    r"|mostly|usually|often|since|both|all"
    r"|long|proudly|happily|temporarily|permanently|mainly|regularly|sometimes|once|previously|formerly|absolutely"
    r"|totally|completely|quite|so|truly|originally"
    r"|basically|soon|again|today|yesterday|then|later|eventually|immediately|quietly|quickly|suddenly|lately"
    r"|nowadays|newly|hardly|no more|secretly|kind of|sort of|very)"
)
Tense = Literal["used", "unfit", "holds", "tells", "past", "happened", "ahead"]

_AHEAD = re.compile(
    r"\b(?:will|shall|would|could|might|may|should|must|can|cannot|going to|wants? to|plans? to|hopes? to|needs? to"
    r"|about to|try to|trying to"
    r"|tried to|ha(?:ve|s) to|like to|love to)\b"
)
_NOT = re.compile(r"\b(?:not|never|no longer|no more|hardly|stopped|quit|given up|gave up)\b")


@dataclass(frozen=True, slots=True)
class Form:
    """A form of one relation, whose pattern matches a clause with a space before it.

    `needs`: sets of words, of each of which one occurs in every clause that it matches.
    """

    relation: str
    mood: Mood
    expression: str
    slots: tuple[tuple[str, str], ...]
    needs: tuple[frozenset[str], ...]
    cjk: bool
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a clause first has all the words that the form needs: most forms wait long for theirs."""
        return _pattern(self.expression, self.cjk)


@cache  # of the forms of schemas, nothing that users said
def _pattern(expression: str, cjk: bool) -> re.Pattern[str]:
    return re.compile(expression, 0 if cjk else re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verb:
    """What the verb group of a match says: whether it is negated, and when.

    "tells": of a state, or of an event as in "Mary moves to Oslo".
    """

    negated: bool
    tense: Tense


def read_verb(group: str, verbs: tuple[str, ...]) -> Verb:
    """Polarity and tense of a verb group: auxiliaries, adverbs and one of `verbs`, which may have a particle."""
    words = group.lower().split()
    text = " ".join(words)
    place, form = next(
        ((i, found) for i in range(len(words) - 1, -1, -1) if (found := _form_of(words[i], verbs))),
        (len(words) - 1, "base"),
    )
    before = words[:place]
    negated = bool(_NOT.search(" ".join(before + words[place + 1 :])))
    if re.search(r"\bused to\b", text):
        return Verb(False, "used")
    if form == "base" and before and before[-1] in _BE:  # "we're like a family"
        return Verb(negated, "unfit")
    if _AHEAD.search(text):
        return Verb(negated, "ahead")
    if any(word in before for word in ("have", "has", "been")):
        return Verb(negated, "happened" if form in ("past", "participle", "any") else "holds")
    if any(word in before for word in ("was", "were", "did", "had")):
        return Verb(negated, "past")
    if form in ("past", "participle"):
        return Verb(negated, "happened" if any(word in before for word in ("am", "is", "are")) else "past")
    told = form in ("third", "any") and not any(word in before for word in ("am", "is", "are"))
    return Verb(negated, "tells" if told else "holds")


def looks_ahead(text: str) -> bool:
    """Whether words tell of what is to come, or could."""
    return bool(_AHEAD.search(text))


@erasable_cache(1 << 12)
def _form_of(word: str, verbs: tuple[str, ...]) -> str:
    if "be" in verbs and word in _BE:
        return _BE[word]
    if word in verbs and inflection.forms(word)[word] == "past":  # "cost", "put", "quit": one form for all
        return "any"
    return next((form for verb in verbs if verb != "be" and (form := inflection.forms(verb).get(word))), "")


_SLOT = re.compile(r"([ASORT])(?::(\w+))?")


def compile_forms(schema: Schema) -> list[Form]:
    """All forms of a schema, in its order; their patterns are compiled on first use."""
    found: list[Form] = []
    for relation in schema.relations.values():
        for wordings, cjk in ((relation.en, False), (relation.zh, True)):
            found += _of_wordings(relation, wordings, cjk)
    return found


def _of_wordings(relation: Relation, wordings: Wordings, cjk: bool) -> Iterable[Form]:
    moods: tuple[tuple[Mood, tuple[str, ...]], ...] = (
        ("begins", wordings.begins),
        ("ends", wordings.ends),
        ("states", wordings.states),
    )
    for mood, sources in moods:
        for source in sources:
            yield _compile_cjk(relation, mood, source) if cjk else _compile(relation, mood, source)


def _kinds(relation: Relation, slots: Iterable[tuple[str, str | None]]) -> tuple[tuple[str, str], ...]:
    default = {"S": relation.subject, "O": relation.object, "R": relation.object, "T": "thing", "A": "any"}
    return tuple((slot, kind or default[slot]) for slot, kind in slots)


def _compile(relation: Relation, mood: Mood, source: str) -> Form:
    parser = _Parser(source)
    body = parser.sequence()
    end = r"\W*$" if re.search(r"[SORT](?::\w+)?$", source) else _END
    return Form(relation.name, mood, body + end, _kinds(relation, parser.slots), tuple(parser.needs), False, source)


class _Parser:
    """Recursive descent over one English form: every item brings the space before it, so that options can drop out."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._depth = 0
        self.needs: list[frozenset[str]] = []
        self._named: set[str] = set()
        self.slots: list[tuple[str, str | None]] = []

    def sequence(self) -> str:
        """Items up to the end, or to the `|`, `]` or `)` that closes them."""
        items: list[str] = []
        while self._at < len(self._source) and self._source[self._at] not in "|])":
            if self._source[self._at] == " ":
                self._at += 1
                continue
            items.append(self._item())
        return "".join(items)

    def _item(self) -> str:
        opener = self._source[self._at]
        if opener == "~":
            self._at += 1
            return r"\s+" + self._verb()
        if opener in "[(":
            self._at += 1
            self._depth += 1
            begin = self._at
            alternatives = [self.sequence()]
            while self._source[self._at] == "|":
                self._at += 1
                alternatives.append(self.sequence())
            self._depth -= 1
            if opener == "(":
                self._need(self._source[begin : self._at].split("|"))
            self._at += 1
            optional = "" if opener == "(" else "??" if alternatives == [_WILD["_"]] else "?"
            return f"(?:{'|'.join(alternatives)}){optional}"
        end = self._at
        while end < len(self._source) and self._source[end] not in " |])":
            end += 1
        token, self._at = self._source[self._at : end], end
        slot = _SLOT.fullmatch(token)
        if slot and slot[1] in self._named:
            return rf"\s+(?P={slot[1]})"
        if slot and slot[1] == "A":
            return _SOMEBODY
        if slot:
            self._named.add(slot[1])
            self.slots.append((slot[1], slot[2]))
            last = self._at >= len(self._source)
            if slot[2] in ("possessor", "owner") or (slot[1] == "S" and _OWNS.match(self._source, self._at)):
                return rf"\s+(?P<{slot[1]}>(?:my|our|your|his|her|its|their|\S.{{0,60}}?'s?))"
            return rf"\s+(?P<{slot[1]}>\S{'.*' if last else '.{0,70}?'}){'' if last else _NO_DETERMINER}"
        if token in _WILD:
            return _WILD[token]
        self._need([token])
        return r"\s+" + token

    def _need(self, alternatives: list[str]) -> None:
        """Note that a clause must have one of these words, where each alternative begins with a plain one."""
        firsts = [words[0] for alternative in alternatives if (words := alternative.split())]
        if (
            not self._depth
            and len(firsts) == len(alternatives)
            and all(re.fullmatch(r"[\w'-]*[a-z][\w'-]*", word) for word in firsts)
        ):
            self.needs.append(frozenset(word.lower() for word in firsts))

    def _verb(self) -> str:
        end = self._source.find(")", self._at) + 1 if self._source[self._at] == "(" else self._at
        while end < len(self._source) and self._source[end] not in " |])":
            end += 1
        verbs, self._at = self._source[self._at : end].strip("()").split("|"), end
        forms = sorted({form for verb in verbs for form in _inflected(verb)}, key=lambda form: (-len(form), form))
        tail = _TAIL if verbs == ["be"] else ""
        if verbs != ["be"] and not self._depth:
            self.needs.insert(0, frozenset(form.split()[0] for form in forms))
        name = "?:" if "verb" in self._named else "?P<verb>"
        self._named.add("verb")
        return rf"({name}(?:{_AUXILIARY}\s+)*(?:{'|'.join(map(re.escape, forms))}){tail})\b"


_END = (  # where a form that closes with a word may be followed by more
    r"(?=\W*$|\s*,|\s+(?:in|on|at|for|since|from|with|last|this|next|when|because|after|before|by|yesterday|today"
    r"|again|together|any ?more|any longer"
    r"|too|so|instead|ago|every|each|twice|once|as|to|of|over|during|until|somewhere|there|here|\w+ ago)\b)"
)
_NO_DETERMINER = r"(?<!\sthe)(?<!\sour)(?<!\smy)"  # a slot is more than the beginning of a noun phrase
_NO_FILLER = (  # what the `_` of a form never stands for
    "my|our|your|his|her|their|its|the|a|an|not|no|never|and|or|but|to|of|is|are|was|were|be|been|has|have|had|do"
    "|does|did|from|with|in|on|at|for|by|I|you|he|she|it|we|they|getting"
)
_OWNS = re.compile(  # what follows an S that owns: "S boss", "S T", "S (sister|brother)"
    r"\s+(?:\[_\]\s+)*(?:T\b|(?:\(|\[)?(?!(?:and|or|would|can|do|does|did|must|have|has|report|on|as|off|in|into"
    r"|onto|to|from|with|at|for|away|back|down|up|over|out|under"
    r"|is|never|only|still|no|when|where|that|who|by|going|being|after|before|closes|aside|next|there|here|behind"
    r"|somewhere|each|apart|done|best friend ,)\b)[a-z])"
)
_SOMEBODY = (
    rf"\s+(?:I|we|you|he|she|they|it|(?-i:{NAME})(?:\s(?-i:{NAME}))?"
    r"|(?:the|my|our|his|her|their|your)\s[\w'-]+(?:\s(?-i:[\w'-]*[a-z]))??)"
)
_WILD = {",": r"\s*,", "_": rf"\s+(?!(?:{_NO_FILLER})\b)[\w'’-]+", "*": r"(?:\s+[\w'’-]+){1,6}?"}
_TAIL = (
    r"(?:\s+(?:not|never|now|no longer|currently|also|still|really|actually|officially|just|always|already|finally"
    r"|only|back|all|very|so"
    r"|pretty|quite|absolutely|mostly|both|probably|once|again))*"
)


def _inflected(verb: str) -> Iterable[str]:
    """Forms of a verb, which may have a particle: "pick up"."""
    if verb == "be":
        return _BE
    first, _, particle = verb.partition(" ")
    if first == "be":
        return [f"{form} {particle}" for form in _BE]
    return [f"{form} {particle}".strip() for form in inflection.forms(first)]


_HAN_ADVERBS = rf"(?P<verb>(?:{ADVERBS}|(?<![评审例晨布年事乐晚聚大宴讨周月协员舞博运早班长动论])会)*)"


def _compile_cjk(relation: Relation, mood: Mood, source: str) -> Form:
    """A Chinese form: a regular expression with slots. `O(?<=a|b)` is an object that ends in a or b, `O#` a number."""
    slots = [(letter, kind or None) for letter, kind in re.findall(r"([SORT])(?::([a-z]+))?", source)]
    ended = re.sub(r"([SORT])\(\?<=\(?([^()]*)\)?\)", r"(?P<\1>.*?(?:\2))", source)
    ended = ended.replace("O#", "(?P<O>[0-9〇零一二两三四五六七八九十百千万.]+)")
    pattern = re.sub(r"(?<!<)([ORT])(?::[a-z]+)?(?![>])", r"(?P<\1>.+?)", ended)
    pattern = re.sub(r"(?<!<)S(?::[a-z]+)?(?![>])", r"(?P<S>.*?)", pattern)
    pattern = pattern.replace("~?", "~").replace("~", _HAN_ADVERBS, 1).replace("~", "")
    return Form(
        relation.name,
        mood,
        pattern + r"(?:了|啦|呢|哦|啊)*$",
        _kinds(relation, slots),
        (),
        True,
        source,
    )


def verbs_of(forms: Iterable[Form]) -> frozenset[str]:
    """Every inflected verb that a form holds: a clause part that begins with one shares the subject before it."""
    found: set[str] = set()
    for form in forms:
        if not form.cjk:
            for token in re.findall(r"~(\([^)]*\)|[\w-]+)", form.source):
                for verb in token.strip("()").split("|"):
                    found.update(word.split()[0] for word in _inflected(verb))
    return frozenset(found - {"be", "been", "being", "set", "back"})


def verb_stems(form: Form) -> tuple[str, ...]:
    """The verbs of a form, for `read_verb`."""
    return tuple(
        verb.split()[0]
        for token in re.findall(r"~(\([^)]*\)|[\w-]+)", form.source)
        for verb in token.strip("()").split("|")
    )
