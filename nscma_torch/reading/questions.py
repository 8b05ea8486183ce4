"""Convert questions to walks over facts: "where does my sister work?" asks for (user's sister, works_at).

English is parsed by a trained network (`question_network.py`), Chinese by forms (`chinese_questions.py`). A question
that neither can parse with certainty, or that refers to an earlier conversation ("he", "that"), has no query and is
answered from passages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from nscma_torch.core.records import FactQuery
from nscma_torch.reading.chinese_questions import ChineseQuestionReader
from nscma_torch.reading.fact_questions import has_topic
from nscma_torch.reading.nouns import narrowing, relations_by_noun, singular
from nscma_torch.reading.relations import Relation, Schema
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.pronouns import ASSISTANT, FIRST_PERSON, SECOND_PERSON
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences

if TYPE_CHECKING:
    from nscma_torch.reading.question_network import AskedRelation, QuestionNetwork

SURE = 0.3  # least confidence of a reading, chosen on the development questions
LONGEST = 400  # characters of a sentence that asks
_HANDED_OVER = ("giver", "receiver", "thing")
_OWNERS = ("my", "our", "your")
_UNNAMED = """
    who whom whose what where when why how which it he she they him them her this that these those his hers its their
    there here anyone everyone someone anything something everything and or
"""
_NO_NAME = frozenset(_UNNAMED.split())  # words in no name
_ADJECTIVES = re.compile(
    r"\b(?:older|younger|elder|little|big|eldest|youngest|oldest|own|dear|current|present|new|latest)\s+", re.IGNORECASE
)
_DETERMINER = re.compile(r"^(?:the|a|an|any|some)\s+", re.IGNORECASE)
_LONGEST_NAME = 8  # words


class QuestionReader:
    """Parses questions about facts in the relations of one schema.

    Args:
        schema: defines the relations.
        network: returns the network; called at the first English question.

    Raises:
        ConfigError: a Chinese form in the schema is malformed.
    """

    def __init__(self, schema: Schema, network: Callable[[], QuestionNetwork]) -> None:
        self._schema = schema
        self._network = network
        self._by_noun = relations_by_noun(schema)
        self._chinese = ChineseQuestionReader(schema)

    def read(
        self,
        question: str,
        *,
        asker: str = "user",
        now: datetime | None = None,
        follows: FactQuery | None = None,
    ) -> FactQuery | None:
        """Return the query for a question, or None if it isn't certainly a question about facts.

        Args:
            question: English or Chinese.
            asker: name of the entity that "I" refers to.
            now: reference time for relative dates; if None, they are ignored.
            follows: the query of the previous question, for questions that continue it ("and before that?").
        """
        if script(question) == "cjk":
            return self._chinese.read(question, asker=asker, now=now, follows=follows)
        text = asking_sentence(question)
        if text is None:
            return None
        asked = self._network().read(text)
        if asked.asks == "again" and asked.confidence >= SURE:
            return replace(follows, previous=True) if follows else None
        query, confidence = self.lookup(asked, asker)
        if query is None or confidence < SURE:
            return None
        if now is None or self._schema.shape(query.path[-1]) == "date":
            return query
        as_of = _date_of(text, asked, now)
        return None if as_of and query.asks == "when" else replace(query, as_of=as_of)

    def lookup(self, asked: AskedRelation, asker: str) -> tuple[FactQuery | None, float]:
        """Return the walk for a parsed question, and its probability.

        If both readings of the topic give the same walk, as for "things" in "how many things does Ana hold?", their
        probabilities are added.
        """
        if not asked.relation:
            return None, asked.confidence
        query = self._query(asked, asker)
        same = asked.also is not None and self._query(asked.also, asker) == query
        return query, asked.confidence + (asked.also.confidence if asked.also and same else 0.0)

    def _query(self, asked: AskedRelation, asker: str) -> FactQuery | None:
        """Return the walk for a parsed question, or None if a slot is missing or doesn't name an entity."""
        slots = asked.slots
        relation = self._named(self._schema[asked.relation], slots.topic)
        named = (slots.subject, slots.object, slots.before)
        names = [self._entity(words, asker) if words else "" for words in named]
        topic = _topic(relation, slots.topic) if slots.topic else ""
        if slots.topic and asked.asks in _HANDED_OVER:
            topic = self._entity(slots.topic, asker)
        if None in names or topic is None:
            return None
        subject, object_, before = (name or "" for name in names)
        if asked.asks == "subject":
            subject = ""
        elif asked.asks not in _HANDED_OVER:
            subject = subject or (asker if relation.subject in ("person", "any") else "")
        needed = object_ if asked.asks == "subject" else subject or object_ or topic
        if not needed or (asked.asks == "object" and not subject):
            return None
        onward = ("part_of",) if "onward" in asked.flags and "part_of" in self._schema else ()
        return FactQuery(
            asked.asks,  # type: ignore[arg-type]
            (relation.name, *onward),
            subject,
            "" if asked.asks == "object" else object_,
            topic,
            before,
            previous="previous" in asked.flags,
            count="count" in asked.flags,
            named="named" in asked.flags,
        )

    def _named(self, read: Relation, noun: str) -> Relation:
        """Return the relation named by the noun if there is only one, else the relation that was read."""
        one = singular(_bare(noun).casefold())
        named = self._by_noun.get(one, [])
        return named[0] if len(named) == 1 and not has_topic(read) and one not in read.nouns else read

    def _entity(self, phrase: str, asker: str) -> str | None:
        """Return the name that a noun phrase refers to, or None for a pronoun or a phrase that isn't a name."""
        text = _DETERMINER.sub("", phrase.strip(" ,\"'“”"))
        lowered = text.casefold()
        if lowered in FIRST_PERSON | {"my", "our"}:
            return asker
        if lowered in SECOND_PERSON | {"your"}:
            return ASSISTANT
        words = lowered.split()
        if not words or len(words) > _LONGEST_NAME or not _NO_NAME.isdisjoint(words) or words[-1] in (*_OWNERS, "the"):
            return None
        if len(words) > 1 and not (FIRST_PERSON | SECOND_PERSON).isdisjoint(words):
            return None
        text = _ADJECTIVES.sub("", text) if " " in text else text
        text = re.sub(r"['’]s$|(?<=s)['’]$", "", text)
        first, _, rest = text.partition(" ")
        if first.casefold() in _OWNERS:
            owner = ASSISTANT if first.casefold() == "your" else asker
            return f"{owner}'s {rest}" if rest else None
        return text or None


def asking_sentence(question: str) -> str | None:
    """Return the sentence that asks: the last one with a question mark, else the last one.

    Returns None if it is empty or too long.
    """
    text = " ".join(question.split())
    sentences = [text[span.start : span.end] for span in split_sentences(text)] or [text]
    found = next((sentence for sentence in reversed(sentences) if "?" in sentence), sentences[-1]).strip()
    return found if found and len(found) <= LONGEST else None


def _bare(noun: str) -> str:
    """Remove a noun's determiner, and adjectives that express time or age."""
    return _ADJECTIVES.sub("", _DETERMINER.sub("", noun.strip()) + " ").strip()


def _topic(relation: Relation, words: str) -> str | None:
    """Return the topic if there is one, else the noun if it is more specific than the relation, else "".

    Returns None if the words aren't a noun.
    """
    text = _bare(words)
    if not text or not _NO_NAME.isdisjoint(text.casefold().split()):
        return None
    if has_topic(relation):
        return text
    unnamed = singular(text.casefold()) if relation.cardinality == "many" and not relation.nouns else ""
    return narrowing(relation, text) or unnamed


def _date_of(text: str, asked: AskedRelation, now: datetime) -> datetime | None:
    """Return the end of a question's only date if it is in the past and not part of a slot, else None."""
    mentions = find_dates(text, now)
    if len(mentions) != 1:
        return None
    (day,) = mentions
    named = text[day.start : day.end]
    if day.last_day >= now.date() or any(named in slot for slot in asked.slots):
        return None
    return datetime.combine(day.last_day, time.max, tzinfo=now.tzinfo or UTC)
