"""What the embedded extractor reads: plain forms, change, denial, the past, pronouns; and where it is silent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.reading.statements import StatementReader
from nscma_torch.records import Scope, Statement, Unit
from nscma_torch.relations import load_relations

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)
READER = StatementReader(load_relations())


def read(text: str, speaker: str = "Ludger", listener: str = "Anna") -> tuple[Statement, ...]:
    return READER.read(Unit("1", Scope("user"), "chunk", text, (), SAID, name=speaker), listener)


def told(text: str) -> list[str]:
    """The statements of a text as "not? past? subject relation[ topic] object"."""
    return [
        " ".join(
            filter(
                None, ("not" * s.negated, "past" * s.past, s.subject, s.relation, s.topic and f"[{s.topic}]", s.object)
            )
        )
        for s in read(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Tartu.", "Ludger lives_in Tartu"),
        ("Oona lives in Tartu.", "Oona lives_in Tartu"),
        ("I work at Halden Bank.", "Ludger works_at Halden Bank"),
        ("Oona works for Halden Bank.", "Oona works_at Halden Bank"),
        ("Oona is a translator.", "Oona job translator"),
        ("My favourite fruit is quince.", "Ludger favourite [fruit] quince"),
        ("Oona's favourite fruit is quince.", "Oona favourite [fruit] quince"),
        ("Oona is 41 years old.", "Oona age 41"),
        ("I am married to Idris.", "Ludger married_to Idris"),
        ("Idris and I have divorced.", "not Ludger married_to Idris"),
        ("Idris and I are divorced now.", "not Ludger married_to Idris"),
        ("My sister is called Wilma.", "Ludger sibling Wilma"),
        ("I speak Georgian.", "Ludger speaks Georgian"),
        ("Oona is allergic to kiwis.", "Oona allergic_to kiwis"),
        ("Oona is vegan.", "Oona diet vegan"),
        ("I have asthma.", "Ludger has_condition asthma"),
        ("I take metformin.", "Ludger takes_medication metformin"),
        ("Oona plays badminton.", "Oona practises badminton"),
        ("I like rhubarb.", "Ludger likes rhubarb"),
        ("I hate rhubarb.", "Ludger dislikes rhubarb"),
        ("Oona owns a canoe.", "Oona owns canoe"),
        ("I use Inkscape.", "Ludger uses Inkscape"),
        ("The audit is due on 3 July.", "audit deadline 3 July"),
        ("The recital is on 3 July.", "recital scheduled_for 3 July"),
        ("The kettle costs 30 euros.", "kettle costs 30 euros"),
        ("I have three canoes.", "Ludger count [canoes] three"),
        ("The gate is maroon.", "gate color maroon"),
        ("The kiln is broken.", "kiln status broken"),
        ("The server is at version 2.7.", "server version 2.7"),
        ("Oona is responsible for the newsletter.", "newsletter assigned_to Oona"),
        ("My locker code is 7741.", "Ludger value [locker code] 7741"),
        ("Oona is in the greenhouse.", "Oona located_in greenhouse"),
        ("Oona is a member of the glee club.", "Oona member_of glee club"),
        ("I report to Idris.", "Ludger manager Idris"),
    ],
)
def test_plain_forms_are_read(text: str, expected: str) -> None:
    assert told(text) == [expected]


@pytest.mark.parametrize(
    ("text", "relation", "value", "old"),
    [
        ("I moved from Tartu to Graz.", "lives_in", "Graz", "Tartu"),
        ("Oona moved from Tartu to Graz.", "lives_in", "Graz", "Tartu"),
        ("I changed my favourite colour from red to blue", "favourite", "blue", "red"),
        ("Idris handed the lantern to Oona.", "held_by", "Oona", "Idris"),
        ("We bumped the server from 2.7 to 2.8.", "version", "2.8", "2.7"),
        ("I'm 42, not 41.", "age", "42", "41"),
        ("我把喜欢的颜色从红色改成了蓝色", "favourite", "蓝色", "红色"),
        ("小林从南京搬到了青岛。", "lives_in", "青岛", "南京"),
    ],
)
def test_a_change_names_what_it_replaces(text: str, relation: str, value: str, old: str) -> None:
    (statement,) = read(text)
    assert (statement.relation, statement.object, statement.replaces) == (relation, value, old)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Sorry, I meant I live in Graz.", "Graz"),
        ("I meant to say that I live in Graz.", "Graz"),
        ("Sorry, my mistake. I live in Graz.", "Graz"),
        ("I live in Tartu. My mistake. I live in Graz.", "Graz"),
        ("I live in Tartu. Just kidding, I live in Graz.", "Graz"),
        ("I live in Tartu. Only joking! I live in Graz.", "Graz"),
    ],
)
def test_a_correction_is_read_with_what_announces_it(text: str, value: str) -> None:
    *before, last = read(text)
    assert (last.relation, last.object, last.correction) == ("lives_in", value, True)
    assert [statement.correction for statement in before] == [False] * len(before)


def test_what_is_meant_to_be_done_and_what_was_a_joke_are_no_statements() -> None:
    assert told("I meant to call my sister.") == []
    assert told("I live on Mars, just kidding.") == []


@pytest.mark.parametrize("begins", ["Starting Monday", "Starting tomorrow", "From next Monday", "Beginning in June"])
def test_what_is_to_begin_holds_not_yet(begins: str) -> None:
    assert told(f"{begins} I work at Bosch.") == told(f"I work at Bosch {begins.lower()}.") == []
    assert told(f"I live in Graz. {begins} I work at Bosch.") == ["Ludger lives_in Graz"]


def test_what_began_holds() -> None:
    assert told("Since Monday I work at Bosch.") == told("As of Monday I work at Bosch.") == ["Ludger works_at Bosch"]
    assert told("I worked at Bosch from Monday.") == ["past Ludger works_at Bosch"]


def test_topics_are_in_one_spelling() -> None:
    for text in ("My favourite colour is blue.", "My favorite color is blue."):
        assert told(text) == ["Ludger favourite [color] blue"]


def test_a_period_in_a_name_ends_nothing() -> None:
    assert told("I live in St. James Street.") == ["Ludger lives_in St. James Street"]
    assert told("I live in Graz with my brother Max. Max works at Bosch.")[-1] == "Max works_at Bosch"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I no longer live in Tartu.", ["not Ludger lives_in Tartu"]),
        ("Oona doesn't work at Bosch any more.", ["not Oona works_at Bosch"]),
        ("Oona quit Bosch.", ["not Oona works_at Bosch"]),
        ("I sold my canoe.", ["not Ludger owns canoe"]),
        ("Oona got rid of the canoe.", ["not Oona owns canoe"]),
        ("I've stopped using Inkscape.", ["not Ludger uses Inkscape"]),
        ("I broke up with Idris.", ["not Ludger partner Idris"]),
        ("I used to live in Tartu.", ["past Ludger lives_in Tartu"]),
        ("I lived in Tartu until 2019.", ["past Ludger lives_in Tartu"]),
        ("我不再用微信了", ["not Ludger uses 微信"]),
        ("我以前住在重庆。", ["past Ludger lives_in 重庆"]),
    ],
)
def test_what_ended_is_denied_or_past(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wilma went back to the orchard.", ["Wilma located_in orchard"]),
        ("Idris grabbed the lantern there.", ["lantern held_by Idris"]),
        ("Idris put down the lantern.", ["not lantern held_by Idris"]),
        ("Oona discarded the lantern.", ["not lantern held_by Oona"]),
        ("Oona left the lantern there.", ["not lantern held_by Oona"]),
        ("Idris gave the lantern to Oona.", ["lantern held_by Oona"]),
        ("Wilma and Idris moved to the cellar.", ["Wilma located_in cellar", "Idris located_in cellar"]),
        (
            "Wilma went to the attic. Then she journeyed to the yard.",
            ["Wilma located_in attic", "Wilma located_in yard"],
        ),
        ("Idris is no longer in the attic.", ["not Idris located_in attic"]),
        ("Idris is not in the attic.", ["not Idris located_in attic"]),
        ("Idris is either in the attic or the yard.", []),
    ],
)
def test_narration_of_moves_and_things(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister Wilma works at Bosch.", ["Ludger sibling Wilma", "Wilma works_at Bosch"]),
        ("My boss, Dr. Okafor, lives in Graz.", ["Ludger manager Dr. Okafor", "Dr. Okafor lives_in Graz"]),
        (
            "I have two brothers, Idris and Jens.",
            ["Ludger sibling Idris", "Ludger sibling Jens", "Ludger count [brothers] two"],
        ),
        ("My sister works at Bosch.", ["Ludger's sister works_at Bosch"]),
        ("Wilma, a carpenter, lives in Graz.", ["Wilma job carpenter", "Wilma lives_in Graz"]),
        ("I live in Graz and work at Bosch.", ["Ludger lives_in Graz", "Ludger works_at Bosch"]),
        ("Sold the canoe yesterday.", ["not Ludger owns canoe"]),
        ("My shoe size has changed, it's 44 now.", ["Ludger value [shoe size] 44"]),
        ("You are allergic to kiwis.", ["Anna allergic_to kiwis"]),
        (
            "I'm allergic to kiwis, plums and latex.",
            [f"Ludger allergic_to {what}" for what in ("kiwis", "plums", "latex")],
        ),
        ("Idris and I are engaged.", ["Ludger partner Idris"]),
        ("我姐姐王芳在北京当老师。", ["Ludger sibling 王芳", "王芳 job 老师"]),
    ],
)
def test_who_and_what_is_meant(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Do you live in Tartu?",
        "If I lived in Tartu, I would own a boat.",
        "I wish I lived in Tartu.",
        "Maybe Oona works at Bosch.",
        "I might move to Tartu.",
        "Imagine I owned a castle.",
        "I think Oona is a translator.",
        "What a week.",
        "I'm in a hurry.",
        "Anna is right.",
        "It takes two to tango.",
        "“I live in a castle on the moon,” said the puppet.",
        "你住在哪里?",
        "如果我住在北京就好了。",
        "他说他可能搬到北京。",
    ],
)
def test_it_is_silent_where_nothing_is_asserted(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm vegetarian, and allergic to kiwis.", ["Ludger diet vegetarian", "Ludger allergic_to kiwis"]),
        ("Oona is vegan and allergic to kiwis.", ["Oona diet vegan", "Oona allergic_to kiwis"]),
        ("Oona lives in Tartu and is allergic to kiwis.", ["Oona lives_in Tartu", "Oona allergic_to kiwis"]),
        ("Is Oona vegan or allergic to kiwis?", []),
    ],
)
def test_what_is_said_of_one_subject_in_a_row(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I subscribe to the New York Times.", ["Ludger subscribed_to New York Times"]),
        ("I want a sun hat.", ["Ludger wants sun hat"]),
        ("Oona is in the basement.", ["Oona located_in basement"]),
        ("I have myocarditis.", ["Ludger has_condition myocarditis"]),
        ("I want peace of mind.", []),
        ("Oona became a dog groomer.", []),
        ("I am using Todoist.", ["Ludger uses Todoist"]),
    ],
)
def test_a_noun_is_judged_by_its_head_and_a_name_as_a_whole(text: str, expected: list[str]) -> None:
    assert told(text) == expected


def test_dates_say_since_when() -> None:
    (since,) = read("I have been vegan since 2019.")
    assert since.valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    (until,) = read("I lived in Tartu until 2019.")
    assert until.valid_from is None
    assert until.valid_to == datetime(2019, 1, 1, tzinfo=UTC)


def test_a_correction_is_marked() -> None:
    (statement,) = read("Sorry, I meant: I live in Graz.")
    assert statement.correction


def test_a_statement_points_at_its_sentence() -> None:
    text = "What a day. I live in Tartu. Bye."
    (statement,) = read(text)
    assert text[statement.start : statement.end].strip() == "I live in Tartu."


def test_the_same_statement_is_read_once() -> None:
    assert told("I live in Tartu. Yes, I live in Tartu.") == ["Ludger lives_in Tartu"]


def test_a_thing_that_is_called_by_a_pronoun_means_nothing_else() -> None:
    assert read('"This" is a song. It was released in 2001. It is blue.') == ()


@pytest.mark.parametrize(
    "text",
    [
        "I saw Tom at the market.",
        "I saw Paris last year.",
        "I am seeing Igor tomorrow.",
        "I am going out with Igor tomorrow.",
        "I'm with Helvetia since February.",
        "Sofia is leaving us at the end of the month, Kenji takes over the frontend.",
        "Target is 600.",
        "Minibus is 640 for the weekend.",
        "I was six when we met.",
        "Oona finished her master's in Graz and is happy.",
        "'I'm a doctor, not a bricklayer' is what it says.",
    ],
)
def test_what_is_unsure_is_no_fact(text: str) -> None:
    assert told(text) == []


def test_how_long_is_no_part_of_a_place() -> None:
    assert told("I live in Amsterdam another four years.") == ["Ludger lives_in Amsterdam"]


def test_a_word_with_a_hyphen_is_whole() -> None:
    assert told("My sister-in-law lives in Bonn.") == ["Ludger's sister-in-law lives_in Bonn"]
