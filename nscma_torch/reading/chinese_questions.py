"""Parse Chinese questions into walks over facts, using the schema's nouns and its forms (`zh.asks`; see
`chinese_question_forms.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, time

from nscma_torch.core.records import FactQuery
from nscma_torch.reading.chinese_names import sounded, written
from nscma_torch.reading.chinese_question_forms import ChineseQuestionForm, compile_form
from nscma_torch.reading.chinese_question_text import Plain, plain
from nscma_torch.reading.nouns import narrowing, relations_by_noun
from nscma_torch.reading.relations import Relation, Schema, Shape
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.pronouns import ASSISTANT, FIRST_PERSON, SECOND_PERSON

_NOUN_FORMS = (  # of any relation that has nouns
    "S's NOUN (是|叫|在|有) [的] [名字] WH [名字|地方|样的]",
    "WH 是 S's NOUN",
    "S 有 [什么|哪些|几个|没有] NOUN 吗",
    "O 是 [不是] S's NOUN [吗]",
    "object: S 有 (哪些|什么) NOUN",
)
_FITTING: dict[Shape, frozenset[str]] = {  # question words for a noun's kind, besides 什么
    "person": frozenset({"谁"}),
    "place": frozenset({"哪里", "哪儿", "哪", "什么"}),
    "group": frozenset({"哪里", "哪儿", "哪", "什么", "谁"}),
    "date": frozenset({"什么", "哪天", "几号"}),
    "name": frozenset({"什么", "谁"}),
    "any": frozenset({"什么", "谁"}),
}
_NO_NAME = re.compile(r"[谁吗呢？?，,]|什么|哪|怎么|为什么|是不是|多少|几个|^[他她它]|之前|以前|没有")
_LONGEST_TOPIC = 4  # words
_IN = re.compile(r"[在]$")


class ChineseQuestionReader:
    """Parses questions using the forms in one schema. Raises `ConfigError` for a malformed form.

    Args:
        schema: the relations and their wordings.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._by_noun = relations_by_noun(schema)
        nouns = "|".join(map(re.escape, sorted(self._by_noun, key=lambda n: (-len(n), n)))) or "(?!)"
        self._forms = [
            *(
                compile_form(s, relation.name, nouns)
                for relation in schema.relations.values()
                for s in relation.zh.asks
            ),
            *(compile_form(source, "", nouns) for source in _NOUN_FORMS),
        ]

    def read(
        self, question: str, *, asker: str, now: datetime | None = None, follows: FactQuery | None = None
    ) -> FactQuery | None:
        """Return the query for a question, or None if no form matches it with certainty; see `QuestionReader.read`."""
        found = self._read(sounded(question), asker, now, follows)
        if found is None:
            return None
        subject, value, before = (written(name, question) for name in (found.subject, found.object, found.before))
        return replace(found, subject=subject, object=value, before=before)

    def _read(self, question: str, asker: str, now: datetime | None, follows: FactQuery | None) -> FactQuery | None:
        text = plain(question)
        if not text.words and text.previous:
            return replace(follows, previous=True) if follows else None
        found, as_of = self._best(text, asker), None
        if now is not None and not (found and found.object and self._schema.shape(found.path[-1]) == "date"):
            text, as_of = _without_date(text, now)
            found = self._best(text, asker) if as_of else found
        if found is None:
            return None
        before = self._entity(text.before, asker) if text.before else ""
        if before is None or (as_of and found.asks == "when"):
            return None
        return replace(found, before=before, previous=found.previous or text.previous, as_of=as_of)

    def _best(self, text: Plain, asker: str) -> FactQuery | None:
        """Return the match with the shortest slots; ties go to the form that comes first in the schema."""
        best: tuple[int, FactQuery] | None = None
        for form in self._forms:
            match = form.pattern.fullmatch(text.words)
            if match is None:
                continue
            left = sum(len(match.groupdict().get(slot) or "") for slot in ("S", "O", "T"))
            if best is None or left < best[0]:
                query = self._query(form, match, asker)
                best = (left, query) if query else best
        return best[1] if best else None

    def _query(self, form: ChineseQuestionForm, match: re.Match[str], asker: str) -> FactQuery | None:
        slots = match.groupdict()
        names = {slot: self._entity(slots[slot], asker) for slot in ("S", "O") if slots.get(slot)}
        topic = _topic(slots["T"]) if slots.get("T") else ""
        if None in names.values() or topic is None:
            return None
        path = form.path
        if slots.get("noun"):
            relation = self._named(slots["noun"], slots.get("wh") or "")
            if relation is None:
                return None
            path, topic = (relation.name,), narrowing(relation, slots["noun"])
        if form.asks in ("giver", "receiver", "thing") and topic:
            topic = self._entity(topic, asker) or ""
        return FactQuery(
            form.asks,
            path,
            names.get("S") or "",
            names.get("O") or "",
            topic,
            previous=form.previous,
            count=form.count,
            named=form.named,
        )

    def _named(self, noun: str, word: str) -> Relation | None:
        """Return the relation that a noun names, if it is the only one and the question word agrees with it."""
        named = self._by_noun.get(noun.casefold()) or []
        if len(named) != 1 or (
            word and word not in _FITTING.get(self._schema.shape(named[0].name), frozenset({"什么"}))
        ):
            return None
        return named[0]

    def _entity(self, phrase: str, asker: str) -> str | None:
        """Return the name that a noun phrase refers to, or None for a pronoun or a phrase that isn't a name."""
        text = phrase.strip(" ,\"'“”").lstrip("了的")
        if not text or _NO_NAME.search(text):
            return None
        for pronouns, name in ((FIRST_PERSON, asker), (SECOND_PERSON, ASSISTANT)):
            if text in pronouns:
                return name
            owner = next((p for p in sorted(pronouns, key=len, reverse=True) if text.startswith(p)), "")
            if owner:
                return f"{name}'s {text.removeprefix(owner).removeprefix('的')}"
        owned = re.fullmatch(r"(?P<owner>.+?)的(?P<rest>.+)", text)
        return f"{owned['owner']}'s {owned['rest']}" if owned else text


def _topic(text: str) -> str | None:
    """Return a topic as a name, or None if it can't be one."""
    words = text.split()
    known = words and len(words) <= _LONGEST_TOPIC and not _NO_NAME.search(text)
    return " ".join(words) if known else None


def _without_date(text: Plain, now: datetime) -> tuple[Plain, datetime | None]:
    """Return the question without its date, and the end of that date (at most `now`).

    The date is None unless the question contains exactly one.
    """
    mentions = find_dates(text.words, now)
    if len(mentions) != 1:
        return text, None
    day = mentions[0]
    before = _IN.sub("", text.words[: day.start].rstrip())
    rest = text.words[day.end :].removeprefix("的时候").removeprefix("时").strip(" ,，")
    at = min(datetime.combine(day.last_day, time.max, tzinfo=now.tzinfo or UTC), now)
    return replace(text, words=f"{before.strip(' ,，')}{rest}".strip()), at
