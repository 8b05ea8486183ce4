"""Answers from facts: values, lists, counts, yes and no, past values, disputes, handing over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nscma_torch.answering.fact_answer import FactAnswer, answer_query
from nscma_torch.core.records import Fact, FactQuery, Scope
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.semantic.graph.fact_graph import FactGraph
from tests.helpers.fact_making import day, fact


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


def ask(
    schema: Schema, rows: list[Fact], asks: Any, *path: str, language: Any = "en", said: Any = None, **query: Any
) -> FactAnswer | None:
    """`said` are the messages behind all facts; without them nouns are not checked."""
    graph = FactGraph(rows, schema).at(None, None if said is None else lambda _: [(text, day(30)) for text in said])
    return answer_query(FactQuery(asks, path, **query), graph, language=language)


def text(schema: Schema, rows: list[Fact], asks: Any, *path: str, language: Any = "en", **query: Any) -> str | None:
    found = ask(schema, rows, asks, *path, language=language, **query)
    return found.text if found else None


MOVED = [
    fact("user", "lives_in", "Rome", None, 10),
    fact("user", "lives_in", "Graz", 10, 20),
    fact("user", "lives_in", "Oslo", 20),
    fact("Oslo", "part_of", "Norway", 1),
]


def test_one_value_with_its_fact(schema: Schema) -> None:
    found = ask(schema, MOVED, "object", "lives_in", subject="user")
    assert found is not None
    assert (found.text, found.values, found.facts, found.disputed) == ("Oslo", ("Oslo",), (MOVED[2],), False)
    assert text(schema, MOVED, "object", "lives_in", "part_of", subject="user") == "Norway"


def test_past_values_on_request(schema: Schema) -> None:
    assert text(schema, MOVED, "object", "lives_in", subject="user", previous=True) == "Graz"
    assert text(schema, MOVED, "object", "lives_in", subject="user", before="Graz") == "Rome"
    assert text(schema, MOVED, "object", "lives_in", subject="user", before="Rome") is None
    assert text(schema, MOVED, "object", "lives_in", subject="user", as_of=day(15)) == "Graz"
    assert text(schema, MOVED, "object", "lives_in", subject="user", as_of=day(15), previous=True) == "Rome"


def test_nothing_known_is_no_answer_and_what_ended_is_said_to_have_ended(schema: Schema) -> None:
    assert text(schema, [], "object", "lives_in", subject="user") is None
    assert text(schema, MOVED, "object", "works_at", subject="user") is None
    assert text(schema, MOVED, "object", "no_such_relation", subject="user") is None
    ended = [fact("user", "works_at", "Bosch", 1, 9)]
    found = ask(schema, ended, "object", "works_at", subject="user")
    assert found is not None
    assert (found.text, found.values, found.facts) == ("none now", (), tuple(ended))
    assert text(schema, ended, "object", "works_at", subject="user", previous=True) == "Bosch"


def test_a_dispute_shows_both_sides_and_asks_back(schema: Schema) -> None:
    sides = [fact("Ben", "age", "34", 1, status="disputed"), fact("Ben", "age", "43", 2, status="disputed")]
    found = ask(schema, sides, "object", "age", subject="Ben")
    assert found is not None
    assert found.disputed
    assert found.values == ("34", "43")
    assert found.text == "I was told different things: 34 and 43. Which is right?"
    assert set(found.facts) == set(sides)
    assert text(schema, sides, "object", "age", subject="Ben", language="zh") == "有不同的说法：34、43。哪个是对的？"
    where = [fact("Ben", "located_in", p, i, status="disputed") for i, p in enumerate(("attic", "shed"))]
    found = ask(schema, where, "object", "located_in", subject="Ben")
    assert found is not None
    assert found.disputed
    assert set(found.values) == {"attic", "shed"}


def test_several_subjects_are_told_apart(schema: Schema) -> None:
    rows = [
        *(fact("user", "sibling", "Anna", topic="sister"), fact("user", "sibling", "Eva", topic="sister")),
        *(fact("Anna", "works_at", "Bosch"), fact("Eva", "works_at", "Siemens")),
    ]
    assert text(schema, rows, "object", "works_at", subject="user's sister") == "Anna: Bosch; Eva: Siemens"
    assert text(schema, rows, "object", "sibling", subject="user", topic="sister") == "Anna, Eva"
    assert text(schema, rows, "subject", "works_at", object="Bosch") == "Anna"
    assert text(schema, rows, "object", "sibling", subject="Anna") == "you"


def test_a_noun_is_answered_only_where_it_was_said(schema: Schema) -> None:
    rows = [fact("user", "sibling", "Anna"), fact("user", "sibling", "Tom")]
    asked: dict[str, Any] = {"subject": "user", "said": ["My sister Anna and my brother Tom came."]}
    assert text(schema, rows, "object", "sibling", topic="sister", **asked) == "Anna"
    assert text(schema, rows, "object", "sibling", **asked) == "Anna, Tom"
    assert text(schema, rows, "whether", "sibling", topic="brother", **asked) == "yes, Tom"
    assert text(schema, rows, "object", "count", topic="sisters", count=True, **asked) == "one"
    assert text(schema, rows, "object", "count", topic="siblings", count=True, **asked) == "two"
    unsaid: dict[str, Any] = {"subject": "user", "said": ["Anna, Tom and I grew up together."]}
    assert text(schema, rows, "object", "sibling", topic="sister", **unsaid) is None
    assert text(schema, rows, "whether", "sibling", topic="sister", **unsaid) is None
    assert text(schema, rows, "object", "count", topic="sisters", count=True, **unsaid) is None


def test_asked_for_the_mother_of_a_daughter_it_does_not_guess(schema: Schema) -> None:
    rows, said = [fact("user", "child", "Elin")], ["My daughter Elin is five."]
    assert text(schema, rows, "object", "parent", subject="Elin", topic="mother", said=said) is None
    assert text(schema, rows, "object", "parent", subject="Elin", said=said) == "you"
    said = ["Elin's mother Ann is here."]
    rows = [fact("Elin", "parent", "Ann")]
    assert text(schema, rows, "object", "parent", subject="Elin", topic="mum", said=said) == "Ann"
    assert text(schema, rows, "object", "parent", subject="Elin", topic="father", said=said) is None


def test_of_one_spouse_only_the_other_noun_is_wrong(schema: Schema) -> None:
    rows = [fact("user", "married_to", "Tom"), fact("Tom", "married_to", "user")]
    said = ["My husband Tom cooks."]
    assert text(schema, rows, "object", "married_to", subject="user", topic="wife", said=said) is None
    assert text(schema, rows, "object", "married_to", subject="user", topic="husband", said=said) == "Tom"
    assert text(schema, rows, "object", "married_to", subject="Tom", topic="wife", said=said) == "you"


def test_counts_that_were_said_come_first(schema: Schema) -> None:
    rows = [fact("user", "count", "five", topic="cats"), fact("user", "pet", "Miso"), fact("user", "pet", "Rex", 1, 2)]
    assert text(schema, rows, "object", "count", subject="user", topic="cat", count=True) == "five"
    assert text(schema, rows, "object", "count", subject="user", topic="pets", count=True) == "one"
    assert text(schema, rows, "object", "count", subject="user", topic="boats", count=True) is None


def test_of_several_kinds_those_of_the_kind_asked_for_are_counted(schema: Schema) -> None:
    """Without messages to check the noun against, the topics of the facts tell."""
    rows = [fact("user", "sibling", name, topic=topic) for name, topic in (("Anna", "sister"), ("Tom", "brother"))]
    found = ask(schema, rows, "object", "count", subject="user", topic="sisters", count=True)
    assert found is not None and (found.text, found.values) == ("one", ("Anna",))
    assert text(schema, rows, "object", "count", subject="user", topic="siblings", count=True) == "two"


def test_a_name_is_what_it_is_called_or_who_it_is(schema: Schema) -> None:
    rows = [fact("user", "named", "Ben"), fact("user", "sibling", "Anna")]
    assert text(schema, rows, "object", "named", subject="user") == "Ben"
    assert text(schema, rows, "object", "named", subject="user's sister") == "Anna"
    assert text(schema, rows, "object", "named", subject="user's boss") is None
    owned = [fact("Anna's bike", "located_in", "shed")]
    assert text(schema, owned, "object", "named", subject="bike") is None, "whose it is, is no name"


def test_yes_and_no_only_where_it_is_known(schema: Schema) -> None:
    def verdict(rows: list[Fact], relation: str, object_: str, subject: str = "user") -> str | None:
        found = ask(schema, rows, "whether", relation, subject=subject, object=object_)
        return found.verdict if found else None

    assert verdict(MOVED, "lives_in", "oslo") == "yes"
    assert verdict(MOVED, "lives_in", "Norway") == "yes"
    assert verdict(MOVED, "lives_in", "Rome") == "no"
    assert verdict(MOVED, "lives_in", "Europe") is None
    tastes = [fact("user", "likes", "tea"), fact("user", "dislikes", "opera"), fact("user", "likes", "golf", 1, 2)]
    assert verdict(tastes, "likes", "tea") == "yes"
    assert verdict(tastes, "likes", "opera") == "no"
    assert verdict(tastes, "likes", "golf") == "no"
    assert verdict(tastes, "likes", "coffee") is None
    assert verdict([fact("user", "diet", "vegan")], "diet", "halal") == "no"
    sister = [fact("user", "sibling", "Anna"), fact("Anna", "dislikes", "opera")]
    found = ask(schema, sister, "whether", "sibling", "likes", subject="user", object="opera")
    assert found is not None and found.verdict == "no"


def test_only_a_value_that_was_not_asked_for_is_shown(schema: Schema) -> None:
    assert text(schema, MOVED, "whether", "lives_in", subject="user", object="Oslo") == "yes"
    assert text(schema, MOVED, "whether", "lives_in", subject="user", object="Norway") == "yes, Oslo"
    assert text(schema, MOVED, "whether", "lives_in", subject="user", object="Rome") == "no, Oslo"
    visited = [fact("user", "visited", "Oslo"), fact("user", "visited", "Rome"), MOVED[3]]
    assert text(schema, visited, "whether", "visited", subject="user", object="Norway") == "yes, Oslo"


def test_whether_there_is_any(schema: Schema) -> None:
    rows = [fact("user", "allergic_to", "nuts")]
    assert text(schema, rows, "whether", "allergic_to", subject="user") == "yes, nuts"
    assert text(schema, [fact("user", "pet", "Rex", 1, 2)], "whether", "pet", subject="user") == "no"
    assert text(schema, [], "whether", "pet", subject="user") is None


def test_where_something_is(schema: Schema) -> None:
    rows = [
        fact("Ines", "located_in", "attic", 1, 4),
        fact("lamp", "held_by", "Ines", 2, 6),
        fact("Ines", "located_in", "porch", 4),
        fact("jar", "held_by", "Otto", 2),
    ]
    assert text(schema, rows, "object", "located_in", subject="lamp") == "porch"
    assert text(schema, rows, "object", "located_in", subject="lamp", as_of=day(3)) == "attic"
    assert text(schema, rows, "object", "located_in", subject="lamp", before="porch") == "attic"
    assert text(schema, rows, "object", "located_in", subject="lamp", previous=True) == "attic"
    assert text(schema, rows, "object", "located_in", subject="jar") == "Otto"
    assert text(schema, rows, "object", "located_in", subject="rope") is None
    assert text(schema, rows, "whether", "located_in", subject="lamp", object="porch") == "yes"
    assert text(schema, rows, "whether", "located_in", subject="lamp", object="cellar") == "no, porch"
    assert text(schema, rows, "whether", "located_in", subject="lamp", object="Norway") is None
    assert text(schema, rows, "whether", "located_in", subject="jar", object="attic") is None


def test_who_holds_what(schema: Schema) -> None:
    rows = [
        fact("lamp", "held_by", "Ines", 2),
        fact("rope", "held_by", "Ines", 3),
        fact("jar", "held_by", "Otto", 2, 5),
        fact("Kaya", "located_in", "attic", 1),
    ]
    assert text(schema, rows, "object", "held_by", subject="lamp") == "Ines"
    assert text(schema, rows, "subject", "held_by", object="Ines") == "lamp, rope"
    assert text(schema, rows, "subject", "held_by", object="Ines", count=True) == "two"
    assert text(schema, rows, "subject", "held_by", object="Kaya") == "nothing"
    assert text(schema, rows, "subject", "held_by", object="Otto", count=True) == "none"
    assert text(schema, rows, "subject", "held_by", object="Otto", count=True, language="zh") == "没有"
    assert text(schema, rows, "subject", "held_by", object="Otto", as_of=day(4)) == "jar"
    assert text(schema, rows, "subject", "held_by", object="stranger") is None


def test_handing_over(schema: Schema) -> None:
    rows = [
        fact("lamp", "held_by", "Ines", 2, 5),
        fact("lamp", "held_by", "Otto", 5, 8),
        fact("lamp", "held_by", "Kaya", 9),
        fact("jar", "held_by", "Otto", 1, 6),
        fact("jar", "held_by", "Ines", 6),
    ]
    assert text(schema, rows, "giver", "held_by", object="Otto", topic="lamp") == "Ines"
    assert text(schema, rows, "receiver", "held_by", subject="Ines", topic="the lamp") == "Otto"
    assert text(schema, rows, "thing", "held_by", subject="Otto", object="Ines") == "jar"
    assert text(schema, rows, "receiver", "held_by", topic="lamp") == "Otto"
    assert text(schema, rows, "giver", "held_by", object="Kaya", topic="lamp") is None
    assert text(schema, rows, "receiver", "held_by", topic="jar", as_of=day(3)) is None
    sister = [*rows, fact("user", "sibling", "Ines")]
    assert text(schema, sister, "receiver", "held_by", subject="user's sister", topic="lamp") == "Otto"
    never_seen_holding = [fact("cup", "held_by", "Otto", None, 4), fact("cup", "held_by", "Ines", 4)]
    assert text(schema, never_seen_holding, "giver", "held_by", topic="cup") == "Otto"


def test_when_it_began(schema: Schema) -> None:
    assert text(schema, MOVED, "when", "lives_in", subject="user", object="Oslo") == "21 January 2026"
    assert text(schema, MOVED, "when", "lives_in", subject="user", object="Oslo", language="zh") == "2026年1月21日"
    assert text(schema, MOVED, "when", "lives_in", subject="user", object="Rome") is None


def test_the_order_of_the_facts_does_not_matter(schema: Schema) -> None:
    query = FactQuery("object", ("lives_in",), subject="user", previous=True)
    one, other = (answer_query(query, FactGraph(rows, schema)) for rows in (MOVED, MOVED[::-1]))
    assert one == other
    known = answer_query(replace(query, as_of=day(12)), FactGraph(MOVED, schema))
    assert known is not None
    assert known.text == "Rome"


def whole(schema: Schema, rows: list[Fact], asks: Any, *path: str, **query: Any) -> tuple[Any, ...] | None:
    """All that an answer says: text, values, places of its facts among the rows, disputed, verdict."""
    found = ask(schema, rows, asks, *path, **query)
    if found is None:
        return None
    return found.text, found.values, [rows.index(one) for one in found.facts], found.disputed, found.verdict


def test_values_of_two_agents_are_both_sides(schema: Schema) -> None:
    rows = [fact("Ben", "age", "34", 1), fact("Ben", "age", "43", 2, scope=Scope("u", "cook"))]
    said = "I was told different things: 34 and 43. Which is right?"
    assert whole(schema, rows, "object", "age", subject="Ben") == (said, ("34", "43"), [0, 1], True, "")
    many = [fact("Ben", "likes", "tea", 1), fact("Ben", "likes", "jazz", 2)]
    assert whole(schema, many, "object", "likes", subject="Ben") == ("tea, jazz", ("tea", "jazz"), [0, 1], False, "")
    assert whole(schema, many, "object", "likes", subject="Ben", count=True) == (
        "two", ("tea", "jazz"), [0, 1], False, "",
    )  # fmt: skip
    one = [fact("Ben", "age", "34", 1, status="disputed")]
    assert whole(schema, one, "object", "age", subject="Ben") == ("34", ("34",), [0], False, "")
    counts = [fact("user", "count", "five", topic="cats"), fact("user", "count", "six", topic="cats")]
    said = "I was told different things: five and six. Which is right?"
    assert whole(schema, counts, "object", "count", subject="user", topic="cats", count=True) == (
        said, ("five", "six"), [0, 1], True, "",
    )  # fmt: skip


def test_a_fact_that_was_only_forgotten_is_not_said_to_have_ended(schema: Schema) -> None:
    ended, forgotten = fact("user", "pet", "Rex", 1, 9), fact("user", "pet", "Tom", 1, None, status="archived")
    ahead = fact("user", "pet", "Kit", 1, 30, status="archived")
    for asks, known in (("object", "none now"), ("whether", "no")):
        verdict = "no" if asks == "whether" else ""
        assert whole(schema, [ended], asks, "pet", subject="user") == (known, (), [0], False, verdict)
        assert whole(schema, [ended, forgotten], asks, "pet", subject="user") is None
        assert whole(schema, [ahead], asks, "pet", subject="user", as_of=day(40)) == (known, (), [0], False, verdict)
        assert whole(schema, [ended], asks, "pet", subject="user", as_of=day(0)) is None, "it had not begun"
        assert whole(schema, [], asks, "pet", subject="user") is None
    assert whole(schema, [ended], "object", "pet", subject="user", count=True) == ("none", (), [0], False, "")
    assert whole(schema, [forgotten], "object", "pet", subject="user", count=True) is None
    assert whole(schema, [ended], "whether", "pet", subject="user", object="Rex") == ("no", (), [0], False, "no")
    assert whole(schema, [ended], "whether", "pet", subject="user", object="Tom") is None
    assert whole(schema, [forgotten], "whether", "pet", subject="user", object="Tom") is None


def test_what_whether_rests_on(schema: Schema) -> None:
    def verdict(rows: list[Fact], object_: str, relation: str = "lives_in") -> tuple[Any, ...] | None:
        return whole(schema, rows, "whether", relation, subject="user", object=object_)

    assert verdict(MOVED, "Oslo") == ("yes", ("Oslo",), [2], False, "yes")
    assert verdict(MOVED, "Norway") == ("yes, Oslo", ("Oslo",), [2], False, "yes")
    assert verdict(MOVED, "Graz") == ("no, Oslo", ("Oslo",), [2], False, "no")
    assert verdict(MOVED, "cellar") == ("no, Oslo", ("Oslo",), [2], False, "no"), "no proper name, so no larger place"
    assert verdict(MOVED, "Cellar") is None
    sides = [fact("user", "lives_in", place, i, status="disputed") for i, place in enumerate(("Rome", "Graz"))]
    said = "I was told different things: Rome and Graz. Which is right?"
    for place in ("Rome", "Oslo"):
        assert verdict(sides, place) == (said, ("Rome", "Graz"), [0, 1], True, "")
    assert verdict(sides[:1], "Rome") == ("yes", ("Rome",), [0], False, "yes")
    tastes = [fact("user", "likes", "tea"), fact("user", "dislikes", "opera")]
    assert verdict(tastes, "opera", "likes") == ("no", ("opera",), [1], False, "no")
    assert verdict(tastes, "tea", "dislikes") == ("no", ("tea",), [0], False, "no")
    rows = [fact("user", "sibling", "Anna", topic="sister"), fact("user", "sibling", "Tom", topic="brother")]
    assert whole(schema, rows, "whether", "sibling", subject="user") == (
        "yes, Anna, Tom", ("Anna", "Tom"), [0, 1], False, "yes",
    )  # fmt: skip


def test_a_place_is_told_with_the_facts_up_to_it(schema: Schema) -> None:
    rows = [
        fact("lamp", "held_by", "Ines", 2),
        fact("Ines", "located_in", "attic", 1),
        fact("attic", "part_of", "villa", 1),
        fact("jar", "held_by", "Otto", 2),
        fact("Kaya", "located_in", "porch", 1, status="disputed"),
        fact("Kaya", "located_in", "shed", 2, status="disputed"),
        fact("rope", "held_by", "Kaya", 2),
        fact("Kaya", "located_in", "barn", 0, 1),
    ]
    sides = "I was told different things: porch and shed. Which is right?", ("porch", "shed"), [4, 5], True, ""
    where = lambda thing, **more: whole(schema, rows, "object", "located_in", subject=thing, **more)  # noqa: E731
    assert where("lamp") == ("attic", ("attic",), [0, 1], False, "")
    assert where("jar") == ("Otto", ("Otto",), [3], False, "")
    assert where("rope") == where("Kaya") == sides
    assert where("Kaya", as_of=day(0)) == ("barn", ("barn",), [7], False, "")
    is_in = lambda thing, place: whole(schema, rows, "whether", "located_in", subject=thing, object=place)  # noqa: E731
    assert is_in("lamp", "attic") == ("yes", ("attic",), [0, 1, 2], False, "yes")
    assert is_in("lamp", "villa") == ("yes", ("villa",), [0, 1, 2], False, "yes")
    assert is_in("lamp", "porch") == ("no, attic", ("attic",), [0, 1, 2], False, "no")
    assert is_in("rope", "porch") == sides
    assert is_in("jar", "attic") is None and is_in("nobody", "attic") is None


def test_past_values_and_their_facts(schema: Schema) -> None:
    rows = [fact("user", "works_at", name, at, at + 5 if at < 15 else None)
            for name, at in (("Bosch", 0), ("Ikea", 5), ("Bosch", 10), ("Aldi", 15))]  # fmt: skip
    past = lambda **more: whole(schema, rows, "object", "works_at", subject="user", **more)  # noqa: E731
    assert past(previous=True) == ("Bosch", ("Bosch",), [2], False, "")
    assert past(before="Bosch") == ("Ikea", ("Ikea",), [1], False, ""), "the last time, and not itself"
    assert past(before="Ikea") == ("Bosch", ("Bosch",), [0], False, "")
    assert past(before="Aldi") == ("Bosch", ("Bosch",), [2], False, "")
    assert past(before="Lidl") is None
    assert past(previous=True, as_of=day(7)) == ("Bosch", ("Bosch",), [0], False, "")
    assert past(previous=True, as_of=day(2)) is None
    homes = [fact("Ines", "located_in", name, at, at + 5 if at < 10 else None)
             for name, at in (("attic", 0), ("porch", 5), ("shed", 10))]  # fmt: skip
    stay = lambda **more: whole(schema, homes, "object", "located_in", subject="Ines", **more)  # noqa: E731
    assert stay(previous=True) == ("porch", ("porch",), [1], False, "")
    assert stay(before="porch") == ("attic", ("attic",), [0], False, "")
    assert stay(before="attic") is None and stay(previous=True, as_of=day(2)) is None


def test_names_and_kinds(schema: Schema) -> None:
    rows = [fact("user", "pet", "grey cat"), fact("user", "pet", "Pixel"), fact("user", "works_at", "Hill School")]
    assert whole(schema, rows, "object", "pet", subject="user", named=True) == ("Pixel", ("Pixel",), [1], False, "")
    assert whole(schema, rows[:1], "object", "pet", subject="user", named=True) is None
    assert whole(schema, rows[:1], "object", "pet", subject="user") == ("grey cat", ("grey cat",), [0], False, "")


def test_questions_that_facts_cannot_tell(schema: Schema) -> None:
    rows = [fact("Anna", "works_at", "Bosch", 1), fact("Anna", "located_in", "attic", 1)]
    assert text(schema, rows, "subject", "works_at", object="Bosch", previous=True) is None
    assert text(schema, rows, "subject", "works_at", object="Bosch", before="Ikea") is None
    assert text(schema, rows, "subject", "works_at", "part_of", object="Bosch") is None
    assert text(schema, rows, "subject", "works_at", object="Ikea") is None
    assert text(schema, rows, "object", subject="Anna") is None
    assert text(schema, rows, "subject", "located_in", object="attic") == "Anna"
    assert (
        text(schema, [*rows, fact("cup", "located_in", "shed", 1, 2)], "subject", "located_in", object="shed")
        == "nothing"
    )


def test_of_handings_over_the_latest_that_fits(schema: Schema) -> None:
    rows = [
        fact("lamp", "held_by", "Ines", 2, 5),
        fact("lamp", "held_by", "Otto", 5, 8),
        fact("lamp", "held_by", "Ines", 8, 9),
        fact("lamp", "held_by", "Otto", 9, 12),
        fact("lamp", "held_by", "Kaya", 13),
        fact("cup", "held_by", "Ines", 1, 10),
        fact("cup", "held_by", "Otto", 10),
    ]
    given = lambda asks, **more: whole(schema, rows, asks, "held_by", **more)  # noqa: E731
    assert given("thing", subject="Ines", object="Otto") == ("cup", ("cup",), [5, 6], False, "")
    assert given("thing", subject="Ines", object="Otto", as_of=day(9)) == ("lamp", ("lamp",), [2, 3], False, "")
    assert given("thing", subject="Ines", object="Otto", as_of=day(8)) == ("lamp", ("lamp",), [0, 1], False, "")
    assert given("receiver", topic="lamp") == ("Otto", ("Otto",), [2, 3], False, "")
    assert given("giver", object="Ines") == ("Otto", ("Otto",), [1, 2], False, "")
    assert given("giver", object="Kaya") is None, "it lay somewhere for a day"
    assert given("giver", object="Kaya", topic="cup") is None and given("thing", subject="Kaya") is None


def test_the_latest_begin_of_what_is_asked_for(schema: Schema) -> None:
    rows = [
        fact("user", "visited", "Rome", 3, 3),
        fact("user", "visited", "Oslo", 5, 5),
        fact("user", "visited", "Rome", 9),
    ]
    when = lambda **more: text(schema, rows, "when", "visited", subject="user", **more)  # noqa: E731
    assert (when(object="Rome"), when(object="Oslo"), when()) == (
        "10 January 2026",
        "6 January 2026",
        "10 January 2026",
    )
    assert when(object="Graz") is None and when(object="Rome", as_of=day(4)) == "4 January 2026"


def test_who_has_a_thing_is_no_question_for_what_it_holds(schema: Schema) -> None:
    rows = [fact("key", "held_by", "Otto"), fact("Otto", "owns", "bike")]
    assert text(schema, rows, "subject", "held_by", object="key") == "Otto"
    assert text(schema, rows, "subject", "held_by", object="bike") is None


HOMES = [
    fact("Alice", "lives_in", "apartment 4B", 1),
    fact("Bob", "lives_in", "apartment 4B", 2),
    fact("Cleo", "lives_in", "apartment 4B", 1, 5),
    fact("Dan", "lives_in", "Lisbon", 1),
    fact("Eve", "lives_in", "Lisbon", 1),
    fact("Fay", "lives_in", "small flat", 1),
    fact("Gus", "lives_in", "small flat", 1),
]


def test_who_lives_in_the_same_home_is_a_roommate_with_both_facts_as_evidence(schema: Schema) -> None:
    found = ask(schema, HOMES, "object", "roommate", subject="Alice")
    assert found is not None
    assert (found.text, found.facts) == ("Bob", (HOMES[0], HOMES[1]))
    assert text(schema, HOMES, "object", "roommate", subject="Bob") == "Alice"
    assert text(schema, HOMES, "whether", "roommate", subject="Alice", object="Bob") == "yes"
    assert text(schema, HOMES, "subject", "roommate", object="Bob") == "Alice"
    assert text(schema, HOMES, "object", "roommate", subject="Alice", as_of=day(4)) == "Cleo, Bob"
    employer = [*HOMES, fact("Bob", "works_at", "Bosch", 1)]
    assert text(schema, employer, "object", "roommate", "works_at", subject="Alice") == "Bosch"


@pytest.mark.parametrize("name", ["Dan", "Fay", "Cleo"])
def test_a_town_any_flat_or_a_former_home_makes_no_roommates(schema: Schema, name: str) -> None:
    assert text(schema, HOMES, "object", "roommate", subject=name) is None


def test_a_fact_that_two_people_are_no_roommates_any_more_outweighs_their_shared_home(schema: Schema) -> None:
    apart = [*HOMES[:2], fact("Alice", "roommate", "Bob", 1, 9)]
    assert text(schema, apart, "object", "roommate", subject="Alice") == "none now"
