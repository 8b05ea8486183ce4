"""Statements of the trained reader: names resolved, polarity and times; what of them is asserted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Statement, Unit
from nscma_torch.reading.asserted_statements import SURE, SURE_NEW, SURE_OPEN, ReadMessage, asserted, is_sure
from nscma_torch.reading.fact_reader import FactReader, MessageFacts, ReadFact
from nscma_torch.reading.read_statements import WINDOW, StatementsOfReader, _statement
from nscma_torch.reading.reader import ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import load_relations
from nscma_torch.text.sentences import Span

SCHEMA = load_relations()
SAID = datetime(2025, 3, 2, 9, tzinfo=UTC)
CERTAIN = (0.99,) * 5


def turn(text: str, name: str = "Maya") -> Unit:
    return Unit("1", Scope("user"), "chunk", text, (), SAID, name=name)


def stances(stance: str) -> tuple[float, ...]:
    return tuple(0.9 if own == stance else 0.1 / 7 for own in STANCES)


class Scripted(FactReader):
    """Finds (relation, subject, object, stance) where the words stand; the subject "@" is the last speaker's name."""

    def __init__(self, *told: tuple[str, str, str, str], topic: str = "") -> None:
        self.told = told
        self.topic = topic
        self.seen: list[Sequence[InputPassage]] = []

    def read(self, messages: Sequence[Sequence[InputPassage]]) -> list[MessageFacts]:
        self.seen += messages
        found = [tuple(fact for told in self.told if (fact := self._fact(own, told))) for own in messages]
        return [MessageFacts(own, {"lives_in": 0.9, "likes": 0.9, "owns": 0.00001}) for own in found]

    def _fact(self, passages: Sequence[InputPassage], told: tuple[str, str, str, str]) -> ReadFact | None:
        relation, subject, value, stance = told
        last = len(passages) - 1
        named = ReadSpan(passages[last].speaker, last, 0, len(passages[last].speaker), False, 0.9)
        whose = named if subject == "@" else span(passages, subject)
        what = span(passages, value)
        if whose is None or what is None or what.passage != last:
            return None
        return ReadFact(relation, whose, what, stances(stance), self.topic, CERTAIN)


def span(passages: Sequence[InputPassage], words: str) -> ReadSpan | None:
    for number in reversed(range(len(passages))):
        at = passages[number].text.find(words)
        if at >= 0:
            return ReadSpan(words, number, at, at + len(words), True, 0.9)
    return None


def read(text: str, *told: tuple[str, str, str, str], before: Sequence[Unit] = (), topic: str = "") -> list[Statement]:
    reader = StatementsOfReader(Scripted(*told, topic=topic), SCHEMA)
    (found,) = reader.read([turn(text)], listeners=["Tom"], before=[before])
    return asserted(found, SCHEMA)


def test_a_statement_stands_in_its_sentence_and_is_of_its_speaker() -> None:
    text = "Finally done. The keys to the flat in Lyon are mine! More later."
    (home,) = read(text, ("lives_in", "@", "Lyon", "holds"))
    assert (home.subject, home.relation, home.object, home.negated) == ("Maya", "lives_in", "Lyon", False)
    assert text[home.start : home.end] == "The keys to the flat in Lyon are mine!"
    assert SURE < home.confidence <= 1


@pytest.mark.parametrize(
    ("subject", "name"), [("I", "Maya"), ("my sister", "Maya's sister"), ("your mum", "Tom's mum"), ("Ana", "Ana")]
)
def test_subjects_are_resolved_by_their_speaker(subject: str, name: str) -> None:
    (home,) = read(f"so {subject} took the flat in Lyon", ("lives_in", subject, "Lyon", "holds"))
    assert home.subject == name


def test_what_a_turn_before_names_is_said_by_its_own_speaker() -> None:
    (home,) = read(
        "still in Lyon", ("lives_in", "my sister", "Lyon", "holds"), before=[turn("where is my sister?", "Tom")]
    )
    assert home.subject == "Tom's sister"


def test_a_pronoun_that_nobody_explains_makes_no_statement() -> None:
    assert read("she took the flat in Lyon", ("lives_in", "she", "Lyon", "holds")) == []
    assert read("Ana is my sister", ("sibling", "Ana", "my sister", "holds")) == [], "a sister without a name"


@pytest.mark.parametrize("stance", STANCES)
def test_only_what_is_asserted_is_a_statement(stance: str) -> None:
    found = read("the flat in Lyon", ("lives_in", "@", "Lyon", stance))
    assert [one.negated for one in found] == {"holds": [False], "ended": [True], "denied": [True]}.get(stance, [])


def test_of_one_value_the_new_one_replaces_the_old_one() -> None:
    (home,) = read("Lyon now, Paris no more", ("lives_in", "@", "Lyon", "holds"), ("lives_in", "@", "Paris", "ended"))
    assert (home.object, home.replaces, home.negated) == ("Lyon", "Paris", False)
    tea, coffee = read("tea now, coffee no more", ("likes", "@", "tea", "holds"), ("likes", "@", "coffee", "ended"))
    assert (tea.object, tea.replaces, coffee.object, coffee.negated) == ("tea", "", "coffee", True)


def test_of_two_values_that_hold_the_one_that_is_likelier_over_is_replaced() -> None:
    found = pairs(("favourite", "@", "red", "holds"), ("favourite", "@", "blue", "holds"))
    (red, fact), blue = found.statements
    unsure = replace(fact, stances=tuple({"holds": 0.5, "ended": 0.5}.get(stance, 0.0) for stance in STANCES))
    (favourite,) = asserted(found._replace(statements=[(replace(red, confidence=1.0), unsure), blue]), SCHEMA)
    assert (favourite.object, favourite.replaces) == ("blue", "red")


def test_a_topic_is_of_the_message_or_of_who_asked() -> None:
    told = ("favourite", "@", "red", "holds")
    for speaker, taken in (("Tom", ["color"]), ("Maya", [])):
        found = read("red", told, before=[turn("the favourite colour is what matters", speaker)], topic="colour")
        assert [one.topic for one in found] == taken


def test_topics_are_kept_apart() -> None:
    (code,) = read("the door code is 4711", ("value", "@", "4711", "holds"), topic="Door Code")
    assert code.topic == "door code"


def test_a_long_message_is_read_in_stretches_of_whole_sentences() -> None:
    sentence = "We talked about the garden and about the weather for a long while. "
    text = sentence * 20 + "The keys to the flat in Lyon are mine."
    scripted = Scripted(("lives_in", "@", "Lyon", "holds"))
    (found,) = StatementsOfReader(scripted, SCHEMA).read([turn(text)], listeners=[""], before=[[turn("before")]])
    assert len(scripted.seen) > 1
    assert all(len(own[-1].text) <= WINDOW for own in scripted.seen)
    assert " ".join(own[-1].text for own in scripted.seen) == text
    ((home, _),) = found.statements
    assert text[home.start : home.end] == "The keys to the flat in Lyon are mine."


def test_sentences_of_a_document_are_read_one_by_one_and_alone() -> None:
    text = "Ana moved to Lyon. Ben stayed. She likes it."
    scripted = Scripted(("lives_in", "Ana", "Lyon", "holds"))
    document = replace(turn(text), role="document")
    StatementsOfReader(scripted, SCHEMA).read([document], listeners=[""], before=[[turn("before")]])
    seen = [[passage.text for passage in own] for own in scripted.seen]
    assert seen == [["Ana moved to Lyon."], ["Ben stayed."], ["She likes it."]]


def test_what_is_told_of_a_place_in_turn_is_read_sentence_by_sentence() -> None:
    text = "The cat was in the attic. The cat is in the yard."
    scripted = Scripted(("located_in", "cat", "attic", "holds"), ("located_in", "cat", "yard", "holds"))
    (found,) = StatementsOfReader(scripted, SCHEMA).read([turn(text)], listeners=[""], before=[[]])
    assert [own[-1].text for own in scripted.seen] == [text, "The cat was in the attic.", "The cat is in the yard."]
    assert [one.object for one in asserted(found, SCHEMA)] == ["attic", "yard"]


def test_the_reader_is_not_asked_in_a_language_that_it_does_not_know() -> None:
    scripted = Scripted(("lives_in", "@", "里昂", "holds"))
    assert StatementsOfReader(scripted, SCHEMA).read([turn("我住在里昂")], listeners=[""], before=[[]]) == [([], {})]
    assert scripted.seen == []


def pairs(*told: tuple[str, str, str, str]) -> ReadMessage:
    text = " ".join(value for _, _, value, _ in told)
    (found,) = StatementsOfReader(Scripted(*told), SCHEMA).read([turn(text)], listeners=[""], before=[[]])
    return found


def test_an_object_tells_one_relation_the_likeliest() -> None:
    read = pairs(("pet", "@", "Rex", "holds"), ("friend", "@", "Rex", "holds"))
    (pet, one), (friend, _) = read.statements
    assert [own.relation for own in asserted(read, SCHEMA)] == ["pet"]
    read.statements[0] = (replace(pet, confidence=friend.confidence / 1.2), one)
    assert [own.relation for own in asserted(read, SCHEMA)] == ["friend"]


def test_a_name_is_of_something_that_can_be_told_apart() -> None:
    assert read("it is a dog called Rex", ("named", "dog", "Rex", "holds")) == []
    (tavern,) = read("the tavern is now called Halcyon", ("named", "tavern", "Halcyon", "holds"))
    assert (tavern.subject, tavern.object) == ("tavern", "Halcyon")
    (named,) = read("my dog is called Rex", ("named", "my dog", "Rex", "holds"))
    assert (named.subject, named.object) == ("Maya's dog", "Rex")


def test_an_open_statement_gives_way_to_a_relation_that_tells_its_words() -> None:
    coined = ("statement", "Moneybomb", "2007", "holds")
    (open_one,) = read("Moneybomb was coined in 2007", coined, topic="was coined in")
    assert (open_one.subject, open_one.topic, open_one.object) == ("Moneybomb", "was coined in", "2007")
    text = "moved to the flat in Lyon in May"
    told = read(text, ("statement", "@", "flat in Lyon", "holds"), ("lives_in", "@", "Lyon", "holds"), topic="moved to")
    assert [one.relation for one in told] == ["lives_in"]
    moved = ("lives_in", "@", "Porto", "holds"), ("lives_in", "@", "Lyon", "ended")
    in_may = ("statement", "@", "May", "holds")
    (home,) = read("moved from Lyon in May to Porto", *moved, in_may, topic="moved from Lyon in")
    assert (home.relation, home.replaces) == ("lives_in", "Lyon"), "what it replaces is told by it too"


def test_what_the_proposer_was_not_trained_on_needs_more_confidence() -> None:
    (found,) = StatementsOfReader(Scripted(("visited", "@", "Lyon", "holds")), SCHEMA).read(
        [turn("the flat in Lyon")], listeners=["Tom"], before=[()]
    )
    ((one, fact),) = found.statements
    between = replace(one, confidence=(SURE + SURE_NEW) / 2)
    unknown = ReadMessage([(between, fact)], {"lives_in": 0.9})
    known = ReadMessage([(between, fact)], {"visited": 0.9})
    assert asserted(unknown, SCHEMA) == [] and asserted(known, SCHEMA) == [between]
    in_its_words = replace(one, relation="statement", topic="slept in", confidence=(SURE_NEW + SURE_OPEN) / 2)
    assert asserted(ReadMessage([(in_its_words, fact)], {"statement": 0.9}), SCHEMA) == []


def test_no_open_statement_runs_over_the_end_of_a_clause() -> None:
    text = "Wout passed the test, and he is off dairy"
    assert read(text, ("statement", "Wout", "dairy", "holds"), topic="passed the test, and he is off") == []
    (passed,) = read(text, ("statement", "Wout", "the test", "holds"), topic="passed")
    assert passed.object == "test"


def test_a_message_is_surely_read_where_each_statement_is_found_or_ruled_out() -> None:
    message = pairs(("pet", "@", "Rex", "holds"), ("friend", "@", "Rex", "holds"))
    for confidences, sure in (((0.95, 0.03), True), ((0.95, 0.3), False), ((0.8, 0.03), False)):
        statements = [
            (replace(one, confidence=confidence), fact)
            for confidence, (one, fact) in zip(confidences, message.statements, strict=True)
        ]
        assert is_sure(message._replace(statements=statements), 0.9) == sure
    assert is_sure(ReadMessage([], {}), 1.0)


def test_what_nearly_happened_is_not_stated_and_what_was_ruled_out_is_denied() -> None:
    assert read("I almost moved to Lyon.", ("lives_in", "@", "Lyon", "holds")) == []
    assert read("I nearly sold my canoe.", ("owns", "@", "canoe", "ended")) == []
    assert [one.negated for one in read("I cancelled Acorn.", ("likes", "@", "Acorn", "ended"))] == [True]
    assert [one.negated for one in read("They ruled out Lyon.", ("lives_in", "@", "Lyon", "holds"))] == [True]


@pytest.mark.parametrize(
    ("text", "subject", "source", "name"),
    [
        ("I live in Lyon.", None, "notes/Health.md", "user"),
        ("i've a flat in Lyon.", None, "about.MARKDOWN", "user"),
        ("My sister moved to Lyon.", "My sister", "about.md", "user's sister"),
        ("Marta moved to Lyon.", "Marta", "about.md", "Marta"),
        ("Lives in Lyon.", None, "about.md", None),
        ("I live in Lyon.", None, "novel.txt", None),
        ("I live in Lyon.", "I", None, None),
        ("My sister moved to Lyon.", "My sister", "letter.txt", None),
        ("Marta moved to Lyon.", "Marta", "cv.txt", "Marta"),
    ],
)
def test_the_first_person_of_a_markdown_note_is_the_user_and_of_other_documents_nobody(
    text: str, subject: str | None, source: str | None, name: str | None
) -> None:
    unit = replace(turn(text, "Health"), role="document", source=source)
    own = InputPassage(text, "Health", unit.occurred_at)
    at = text.index("Lyon")
    whom = ReadSpan("Health", 0, 0, 6, False, 1.0)
    if subject:
        whom = ReadSpan(subject, 0, text.index(subject), text.index(subject) + len(subject), True, 1.0)
    fact = ReadFact("lives_in", whom, ReadSpan("Lyon", 0, at, at + 4, True, 1.0), stances("holds"), "", CERTAIN)
    made = _statement(fact, [own], unit, Span(0, len(text)), [Span(0, len(text))], "", SCHEMA)
    assert (made and made.subject) == name


def test_the_person_of_a_person_is_named_with_their_owner() -> None:
    scripted = Scripted(("works_at", "husband", "Shell", "holds"))
    unit = turn("My sister's husband works at Shell.")
    (found,) = StatementsOfReader(scripted, SCHEMA).read([unit], listeners=[""], before=[[]])
    assert [one.subject for one in asserted(found, SCHEMA)] == ["Maya's sister's husband"]
