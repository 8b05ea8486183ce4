"""English questions as walks over facts: by the bundled network, and what is made of what a network reads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import torch

from nscma_torch.reading.question_network import AskedRelation, QuestionNetwork, Slots, shared_network
from nscma_torch.reading.questions import SURE, QuestionReader, asking_sentence
from nscma_torch.reading.relations import Schema, load_relations
from tests.helpers.shown_query import shown

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
LIVES = AskedRelation("object", "lives_in", frozenset(), Slots("I"), 0.9)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


@pytest.fixture(scope="module")
def reader(schema: Schema) -> QuestionReader:
    return QuestionReader(schema, lambda: shared_network(schema, torch.device("cpu")))


class Told(QuestionNetwork):
    """Reads the same of every question."""

    def __init__(self, asked: AskedRelation) -> None:
        self._asked = asked

    def read(self, question: str) -> AskedRelation:  # noqa: ARG002
        return self._asked


def made(schema: Schema, asked: AskedRelation, question: str = "?", **settings: object) -> str:
    return shown(QuestionReader(schema, lambda: Told(asked)).read(question, **settings))  # type: ignore[arg-type]


ENGLISH = {
    "Where do I live?": "object lives_in user",
    "where does my sister live": "object lives_in user's sister",
    "Where does Anna's boss work?": "object works_at Anna's boss",
    "Do you remember where I live?": "object lives_in user",
    "Can you remind me who my boss is?": "object manager user",
    "Who's Ben's sister?": "object sibling Ben / sister",
    "What is my sister's employer?": "object works_at user's sister",
    "What's my wifi password?": "object value user / wifi password",
    "my wifi password?": "object value user / wifi password",
    "What is the API's port?": "object value API / port",
    "What is the port of the API?": "object value API / port",
    "What's my favorite colour right now?": "object favourite user / colour",
    "Is my favourite color blue?": "whether favourite user > blue / color",
    "Who works at Bosch?": "subject works_at - > Bosch",
    "Who lives in Oslo?": "subject lives_in - > Oslo",
    "Which country do I live in?": "object lives_in.part_of user",
    "How old is my older brother?": "object age user's brother",
    "When is Anna's birthday?": "object born_on Anna",
    "Whose birthday is 3 May?": "subject born_on - > 3 May",
    "When is the report due?": "object deadline report",
    "What is the deadline for the report?": "object deadline report",
    "How much is the rent?": "object costs rent",
    "How many cats do I have?": "object count user / cats count",
    "What am I allergic to?": "object allergic_to user",
    "Am I allergic to nuts?": "whether allergic_to user > nuts",
    "do you know whether I'm allergic to nuts": "whether allergic_to user > nuts",
    "Do I have any allergies?": "whether allergic_to user",
    "Is Ben vegan?": "whether diet Ben > vegan",
    "Is Ben a nurse?": "whether job Ben > nurse",
    "Is my car red?": "whether color user's car > red",
    "Does Ben still like opera?": "whether likes Ben > opera",
    "Who likes jazz?": "subject likes - > jazz",
    "Is Anna my sister?": "whether sibling user > Anna / sister",
    "What is my dog called?": "object pet user / dog",
    "What's your name?": "object named assistant",
    "Where is my sister?": "object located_in user's sister",
    "Who is responsible for the login bug?": "object assigned_to login bug",
    "When did I move to Oslo?": "when lives_in user > Oslo",
    "Which version is the API on?": "object version API",
}
PLACES_AND_HANDS = {
    "Where is the lamp?": "object located_in lamp",
    "Where was the lamp before the attic?": "object located_in lamp before attic",
    "Before the attic, where was the lamp?": "object located_in lamp before attic",
    "Is Ines in the attic?": "whether located_in Ines > attic",
    "Who is in the attic?": "subject located_in - > attic",
    "What is Ines carrying?": "subject held_by - > Ines",
    "How many things is Ines carrying?": "subject held_by - > Ines count",
    "Who is holding the lamp?": "object held_by lamp",
    "Who has my keys?": "object held_by user's keys",
    "Who gave the lamp to Otto?": "giver held_by - > Otto / lamp",
    "Who handed the lamp?": "giver held_by - / lamp",
    "What did Ines give to Otto?": "thing held_by Ines > Otto",
    "Who did Ines pass the lamp to?": "receiver held_by Ines / lamp",
    "Who received the lamp?": "receiver held_by - / lamp",
}


@pytest.mark.parametrize("question", [*ENGLISH, *PLACES_AND_HANDS])
def test_questions_that_facts_can_answer(reader: QuestionReader, question: str) -> None:
    assert shown(reader.read(question)) == {**ENGLISH, **PLACES_AND_HANDS}[question]


@pytest.mark.parametrize(
    "question",
    [
        *("What did we talk about yesterday?", "How do I fix my code?", "Why is the sky blue?", "Is it raining?"),
        *("Where did he go?", "Who gave it to her?", "What should I cook tonight?", "Thanks!", "", "???", "何か"),
        *("Where do Ben or Anna live?", "🙂🙂", "SELECT * FROM users;", "x" * 1000),
    ],
)
def test_what_asks_for_no_fact_or_names_nobody_is_no_query(reader: QuestionReader, question: str) -> None:
    assert reader.read(question, now=NOW) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where did I live before Oslo?", "object lives_in user before Oslo"),
        ("Where did I live before I moved to Oslo?", "object lives_in user before Oslo"),
        ("Where did Ben use to live?", "object lives_in Ben previous"),
        ("What was my previous job?", "object job user previous"),
        ("What was my old wifi password?", "object value user / wifi password previous"),
    ],
)
def test_the_past(reader: QuestionReader, question: str, expected: str) -> None:
    assert shown(reader.read(question)) == expected


def test_a_question_that_follows_another(reader: QuestionReader) -> None:
    first = reader.read("Where do I live?")
    assert shown(reader.read("And before that?", follows=first)) == "object lives_in user previous"
    assert shown(reader.read("之前呢？", follows=first)) == "object lives_in user previous"
    assert reader.read("And before that?") is None


def test_dates_in_the_question_are_the_time_asked_about(reader: QuestionReader) -> None:
    year = reader.read("Where did I live in 2019?", now=NOW)
    assert year is not None
    assert (shown(year), year.as_of) == ("object lives_in user", datetime(2019, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
    plain_question = reader.read("Where do I live?", now=NOW)
    assert plain_question is not None
    assert plain_question.as_of is None


def test_a_date_that_is_asked_about_is_no_time_of_asking(schema: Schema) -> None:
    born = AskedRelation("subject", "born_on", frozenset(), Slots(object="3 May 2019"), 0.9)
    read = QuestionReader(schema, lambda: Told(born)).read("Whose birthday is 3 May 2019?", now=NOW)
    assert read is not None and (read.object, read.as_of) == ("3 May 2019", None)


def test_when_something_was_at_a_time_is_no_query(schema: Schema) -> None:
    assert (
        made(schema, AskedRelation("when", "lives_in", frozenset(), Slots("I", "Oslo"), 0.9), "in 2019?", now=NOW)
        == "none"
    )


def test_who_asks_and_who_is_asked(schema: Schema) -> None:
    assert made(schema, LIVES, asker="Maren") == "object lives_in Maren"
    for said, name in {
        "my older sister": "Maren's sister",
        "our flat": "Maren's flat",
        "you": "assistant",
        "your sister": "assistant's sister",
        "Anna's boss": "Anna's boss",
        "the API's": "API",
        "James'": "James",
    }.items():
        asked = AskedRelation("object", "lives_in", frozenset(), Slots(said), 0.9)
        assert made(schema, asked, asker="Maren") == f"object lives_in {name}"


@pytest.mark.parametrize("nobody", ["he", "my", "that man", "Ben or Anna", "the", "a b c d e f g h i"])
def test_what_names_nobody_is_no_query(schema: Schema, nobody: str) -> None:
    read = made(schema, AskedRelation("object", "lives_in", frozenset(), Slots(nobody), 0.9))
    assert read == ("object lives_in user" if nobody == "my" else "none")


def test_an_unsure_reading_is_no_query(schema: Schema) -> None:
    asked = AskedRelation("object", "lives_in", frozenset(), Slots("I"), SURE - 0.01)
    assert made(schema, asked) == "none"


def test_a_topic_that_changes_nothing_makes_no_reading_unsure(schema: Schema) -> None:
    """Both readings of the topic count where the walk is the same: "siblings" say no more than the relation."""

    def read(relation: str, noun: str) -> str:
        also = AskedRelation("object", relation, frozenset(), Slots("I", topic=noun), SURE * 0.6)
        return made(schema, AskedRelation("object", relation, frozenset(), Slots("I"), SURE * 0.6, also))

    assert read("sibling", "siblings") == "object sibling user"
    assert read("owns", "car") == "none"


def test_a_noun_narrows_where_it_says_more_than_the_relation(schema: Schema) -> None:
    def topic(relation: str, noun: str) -> str:
        return made(schema, AskedRelation("object", relation, frozenset(), Slots("I", topic=noun), 0.9))

    assert topic("sibling", "my older sisters".removeprefix("my ")) == "object sibling user / sister"
    assert topic("sibling", "siblings") == "object sibling user"
    assert topic("manager", "boss") == "object manager user"
    assert topic("owns", "car") == "object owns user / car"
    assert topic("value", "the Wifi password") == "object value user / Wifi password"


def test_a_noun_names_its_relation(schema: Schema) -> None:
    def read(relation: str, noun: str) -> str:
        return made(schema, AskedRelation("object", relation, frozenset(), Slots("I", topic=noun), 0.9))

    assert read("relative", "older stepsisters") == "object sibling user / stepsister"
    assert read("count", "cats") == "object count user / cats"
    assert read("costs", "rent") == read("costs", "price") == "object costs user"


def test_what_is_handed_over_is_a_thing_with_a_name(schema: Schema) -> None:
    asked = AskedRelation("giver", "held_by", frozenset(), Slots(object="me", topic="my lamp"), 0.9)
    assert made(schema, asked, asker="Ana") == "giver held_by - > Ana / Ana's lamp"


def test_flags_and_the_place_that_a_place_lies_in(schema: Schema) -> None:
    asked = AskedRelation("object", "lives_in", frozenset({"onward", "previous"}), Slots("Ben"), 0.9)
    assert made(schema, asked) == "object lives_in.part_of Ben previous"


def test_the_sentence_that_asks() -> None:
    assert asking_sentence("It rained. So, who's my boss? Thanks.") == "So, who's my boss?"
    assert asking_sentence("I forgot.\n Tell me my boss") == "Tell me my boss"
    assert asking_sentence("  ") is None
    assert asking_sentence("who " * 200) is None
