"""From a question to a walk over facts: "where does my sister work?" asks for (user's sister, works_at).

The forms come from the relation schema (`asks`, in the notation of `question_forms.py`) and from its nouns ("who is
Ben's boss?", "how many cats do I have?"). What fits no form, or speaks of someone whom only a conversation before it
would name ("he", "that"), is no query: such a question is for passages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time

from nscma_torch.erasable_cache import erasable_cache
from nscma_torch.reading.nouns import narrowing, plural, relations_by_noun, singular
from nscma_torch.reading.pronouns import FIRST_PERSON, SECOND_PERSON
from nscma_torch.reading.question_forms import QuestionForm, compile_form
from nscma_torch.reading.question_text import Plain, plain, plain_chinese
from nscma_torch.records import FactQuery
from nscma_torch.relations import Relation, Schema, Shape
from nscma_torch.text.dates import find_dates
from nscma_torch.text.scripts import script

_NOUN_FORMS = (  # of any relation that has nouns
    "WH BE S's [current|present|new|latest] NOUN",
    "named: what BE S's [current|present|new|latest] NOUN (called|named)",
    "named: what BE S's NOUN's name",
    "named: what BE the name of S's NOUN",
    "WH BE the [current|present|new|latest] NOUN (of|for) S",
    "(what|which) NOUN DO S have",
    "S's [current|present|new|latest] NOUN",
    "previous: WH BE S's (previous|former|old|last|earlier) NOUN",
    "previous: S's (previous|former|old|last|earlier) NOUN",
    "whether: (DO|HAVE) S [have|got] (a|an|any) NOUN",
    "whether: BE O S's [current|new] NOUN",
    "whether: BE S's [current|new] NOUN O",
    "whose [current|new] NOUN BE O",
)
_ZH_NOUN_FORMS = (
    "S's NOUN (是|叫|在|有) [的] [名字] WH [名字|地方|样的]",
    "WH 是 S's NOUN",
    "S 有 [什么|哪些|几个|没有] NOUN 吗",
    "O 是 [不是] S's NOUN [吗]",
    "object: S 有 (哪些|什么) NOUN",
)
_FITTING: dict[Shape, frozenset[str]] = {  # question words for what a noun names, beside what and which
    "person": frozenset({"who", "谁"}),
    "place": frozenset({"where", "what", "which", "哪里", "哪儿", "哪", "什么"}),
    "group": frozenset({"where", "who", "what", "which", "哪里", "哪儿", "哪", "什么", "谁"}),
    "date": frozenset({"when", "what", "which", "什么", "哪天", "几号"}),
    "name": frozenset({"what", "which", "who", "什么", "谁"}),
    "any": frozenset({"what", "which", "who", "什么", "谁"}),
}
_THING_WORDS = frozenset({"what", "which", "什么"})
_CLAUSE = """
    who whom whose what where when why how which is are was were am be been being do does did will would could should
    shall must has had having if because than or not no it he she they him her them this that these those his hers its
    their there here before after since until while during then anyone everyone someone anything something everything
    any some used else ever never don't doesn't isn't can't more most about
"""
_NO_NAME = frozenset(_CLAUSE.split())  # words in no name: a pronoun, or the beginning of another clause
_NO_NAME_ZH = re.compile(r"[谁吗呢？?，,]|什么|哪|怎么|为什么|是不是|多少|几个|^[他她它]|之前|以前|没有")
_ADJECTIVES = re.compile(r"\b(?:older|younger|elder|little|big|eldest|youngest|oldest|best|own|dear)\s+", re.IGNORECASE)
_DETERMINER = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
_LONGEST = 8  # words of a name


@erasable_cache(64)
def question_reader(schema: Schema, asker: str) -> QuestionReader:
    """The reader of a schema for one asker, made once."""
    return QuestionReader(schema, asker=asker)


class QuestionReader:
    """Reads questions by the forms of one schema. Raises `ConfigError` for a form that is malformed.

    Args:
        schema: the relations and their wordings.
        asker: name of the entity that "I" means.
        assistant: name of the entity that "you" means.
    """

    def __init__(self, schema: Schema, *, asker: str = "user", assistant: str = "assistant") -> None:
        self._schema = schema
        self._asker = asker
        self._assistant = assistant
        self._by_noun = relations_by_noun(schema)
        nouns = sorted({each for noun in self._by_noun for each in (noun, plural(noun))}, key=lambda n: (-len(n), n))
        pattern = "|".join(map(re.escape, nouns)) or "(?!)"
        self._forms = self._compile(_NOUN_FORMS, pattern, chinese=False)
        self._chinese = self._compile(_ZH_NOUN_FORMS, pattern, chinese=True)

    def _compile(self, noun_forms: Sequence[str], nouns: str, *, chinese: bool) -> list[QuestionForm]:
        found: list[QuestionForm] = []
        for relation in self._schema.relations.values():
            for source in (relation.zh if chinese else relation.en).asks:
                found += compile_form(source, relation.name, nouns, chinese=chinese)
        for source in noun_forms:
            found += compile_form(source, "", nouns, chinese=chinese)
        return found

    def read(self, question: str, *, now: datetime | None = None, follows: FactQuery | None = None) -> FactQuery | None:
        """The query that a question means, or None where no form fits it surely.

        Args:
            question: English or Chinese.
            now: what relative dates count from; None reads none.
            follows: the query of the question before, which "and before that?" asks on.
        """
        chinese = script(question) == "cjk"
        text = plain_chinese(question) if chinese else plain(question)
        if not text.words and text.previous:
            return replace(follows, previous=True) if follows else None
        found, as_of = self._best(text, chinese), None
        if now is not None and not (found and found.object and self._is_dated(found)):
            text, as_of = _without_date(text, now)
            found = self._best(text, chinese) if as_of else found
        if found is None:
            return None
        before = self._entity(text.before) if text.before else ""
        if before is None or (as_of and found.asks == "when"):
            return None
        return replace(found, before=before, previous=found.previous or text.previous, as_of=as_of)

    def _best(self, text: Plain, chinese: bool) -> FactQuery | None:
        """The reading that leaves least to its slots, listed words apart; of equal ones the first in the schema."""
        words = {"", *text.words.casefold().split()}
        written = text.words if chinese else f" {text.words}"
        best: tuple[int, FactQuery] | None = None
        for form in self._chinese if chinese else self._forms:
            if any(needed.isdisjoint(words) for needed in form.needed):
                continue
            for pattern in form.patterns:
                match = pattern.fullmatch(written)
                if match is None:
                    continue
                counted = ("S", "T") if "O!" in form.tokens else ("S", "O", "T")
                left = sum(len(match.groupdict().get(slot) or "") for slot in counted)
                if best is None or left < best[0]:
                    query = self._query(form, match)
                    best = (left, query) if query else best
        return best[1] if best else None

    def _is_dated(self, query: FactQuery) -> bool:
        """Whether its object is a date, so that a date in the question is what holds, and not when."""
        return self._schema.kinds[self._schema[query.path[-1]].object].like == "date"

    def _query(self, form: QuestionForm, match: re.Match[str]) -> FactQuery | None:
        slots = match.groupdict()
        owner = "S's" in form.tokens
        names = {slot: self._entity(slots[slot], owner=owner) for slot in ("S", "O") if slots.get(slot)}
        topic = _topic(slots["T"]) if slots.get("T") else ""
        if None in names.values() or topic is None or not self._listed(form, slots):
            return None
        subject, object_ = names.get("S") or "", names.get("O") or ""
        path = form.path
        if slots.get("noun"):
            relation = self._named(slots["noun"], slots.get("wh") or "")
            if relation is None:
                return None
            path, topic = (relation.name,), narrowing(relation, slots["noun"])
        if form.asks in ("giver", "receiver", "thing") and topic:
            topic = self._entity(topic) or ""
        return FactQuery(
            form.asks, path, subject, object_, topic, previous=form.previous, count=form.count, named=form.named
        )

    def _listed(self, form: QuestionForm, slots: Mapping[str, str | None]) -> bool:
        """Whether object and topic are among the words of their kind, where the form demands it."""
        relation = self._schema[form.relation] if form.relation else None
        if relation and "T!" in form.tokens and not relation.alike(singular((slots["T"] or "").casefold())):
            return False
        if relation is None or "O!" not in form.tokens:
            return True
        phrase = slots["O"] or ""
        return self._schema.kinds[relation.object].admits(phrase, phrase.casefold())

    def _named(self, noun: str, word: str) -> Relation | None:
        """The one relation that a noun names, if the question word fits it."""
        named = self._by_noun.get(noun.casefold()) or self._by_noun.get(singular(noun.casefold())) or []
        if len(named) != 1 or (
            word and word.casefold() not in _FITTING.get(self._schema.kinds[named[0].object].like, _THING_WORDS)
        ):
            return None
        return named[0]

    def _entity(self, phrase: str, *, owner: bool = False) -> str | None:
        """The name of what a noun phrase means; None for a pronoun or what is no name."""
        text = _DETERMINER.sub("", phrase.strip(" ,\"'“”"))
        if script(text) == "cjk":
            return self._chinese_entity(text)
        lowered = text.casefold()
        if lowered in FIRST_PERSON or (owner and lowered in ("my", "our")):
            return self._asker
        if lowered in SECOND_PERSON or (owner and lowered == "your"):
            return self._assistant
        words = lowered.split()
        if len(words) > 1 and not (FIRST_PERSON | SECOND_PERSON).isdisjoint(words):
            return None
        if not words or len(words) > _LONGEST or not _NO_NAME.isdisjoint(words) or words[-1] in ("my", "your", "the"):
            return None
        text = _ADJECTIVES.sub("", text) if " " in text else text
        text = re.sub(r"'s$|(?<=s)'$", "", text)
        first, _, rest = text.partition(" ")
        owners = {"my": self._asker, "our": self._asker, "your": self._assistant}
        if first.casefold() in owners:
            return f"{owners[first.casefold()]}'s {rest}" if rest else None
        return text or None

    def _chinese_entity(self, text: str) -> str | None:
        text = text.lstrip("了的")
        if not text or _NO_NAME_ZH.search(text):
            return None
        for pronouns, name in ((FIRST_PERSON, self._asker), (SECOND_PERSON, self._assistant)):
            if text in pronouns:
                return name
            owner = next((p for p in sorted(pronouns, key=len, reverse=True) if text.startswith(p)), "")
            if owner:
                return f"{name}'s {text.removeprefix(owner).removeprefix('的')}"
        owned = re.fullmatch(r"(?P<owner>.+?)的(?P<rest>.+)", text)
        return f"{owned['owner']}'s {owned['rest']}" if owned else text


def _topic(text: str) -> str | None:
    """A topic as a name, None for what is none."""
    words = _DETERMINER.sub("", text.strip()).split()
    known = words and len(words) <= 4 and _NO_NAME.isdisjoint(word.casefold() for word in words)
    return " ".join(words) if known and not _NO_NAME_ZH.search(text) else None


_PREPOSITION = re.compile(r"\s*\b(?:back in|in|on|at|during|as of|by|around|of)$|[在]$", re.IGNORECASE)


def _without_date(text: Plain, now: datetime) -> tuple[Plain, datetime | None]:
    """The question without the one date that it names, and the end of that date, at most now."""
    mentions = find_dates(text.words, now)
    if len(mentions) != 1:
        return text, None
    day = mentions[0]
    before = _PREPOSITION.sub("", text.words[: day.start].rstrip())
    rest = text.words[day.end :].removeprefix("的时候").removeprefix("时").strip(" ,，")
    at = min(datetime.combine(day.last_day, time.max, tzinfo=now.tzinfo or UTC), now)
    return replace(text, words=f"{before.strip(' ,，')} {rest}".strip()), at
