"""Questions as walks over facts: forms of the schema, nouns, owners, dates, "before", and what is no query."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.errors import ConfigError
from nscma_torch.reading.question_forms import compile_form
from nscma_torch.reading.question_text import plain, plain_chinese
from nscma_torch.reading.questions import QuestionReader
from nscma_torch.records import FactQuery
from nscma_torch.relations import Schema, load_relations

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


@pytest.fixture(scope="module")
def reader(schema: Schema) -> QuestionReader:
    return QuestionReader(schema)


def shown(query: FactQuery | None) -> str:
    """`asks relation subject > object / topic`, with what else is set."""
    if query is None:
        return "none"
    parts = [query.asks, ".".join(query.path), query.subject or "-"]
    parts += ["> " + query.object] if query.object else []
    parts += ["/ " + query.topic] if query.topic else []
    parts += ["before " + query.before] if query.before else []
    parts += ["previous"] * query.previous + ["count"] * query.count
    return " ".join(parts)


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
CHINESE = {
    "我住在哪里？": "object lives_in user",
    "你知道我姐姐在哪里工作吗？": "object works_at user's 姐姐",
    "我的老板是谁？": "object manager user",
    "我最喜欢的颜色是什么？": "object favourite user / 颜色",
    "我的wifi密码是什么？": "object value user / wifi密码",
    "王芳多大了？": "object age 王芳",
    "我对花生过敏吗？": "whether allergic_to user > 花生",
    "谁在博世工作？": "subject works_at - > 博世",
    "我有几只猫？": "object count user / 猫 count",
    "台灯在哪里": "object located_in 台灯",
    "谁拿着台灯？": "object held_by 台灯",
    "谁把台灯给了小红？": "giver held_by - > 小红 / 台灯",
    "小明把台灯给了谁？": "receiver held_by 小明 / 台灯",
    "我搬到上海之前住在哪里？": "object lives_in user before 上海",
    "我以前住在哪里？": "object lives_in user previous",
    "王芳是我的姐姐吗？": "whether sibling user > 王芳 / 姐姐",
}


@pytest.mark.parametrize("question", [*ENGLISH, *PLACES_AND_HANDS, *CHINESE])
def test_questions_that_facts_can_answer(reader: QuestionReader, question: str) -> None:
    assert shown(reader.read(question)) == {**ENGLISH, **PLACES_AND_HANDS, **CHINESE}[question]


@pytest.mark.parametrize(
    "question",
    [
        *("What did we talk about yesterday?", "How do I fix my code?", "Why is the sky blue?", "Is it raining?"),
        *("Where did he go?", "Who gave it to her?", "What should I cook tonight?", "Thanks!", "", "???", "何か"),
        *("What city do you think I live in?", "Where was the lamp after the attic?", "Where do Ben or Anna live?"),
        *("今天天气怎么样？", "她住在哪里？", "为什么？"),
    ],
)
def test_what_fits_no_form_or_names_nobody_is_no_query(reader: QuestionReader, question: str) -> None:
    assert reader.read(question, now=NOW) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where did I live before Oslo?", "object lives_in user before Oslo"),
        ("Where did I live before I moved to Oslo?", "object lives_in user before Oslo"),
        ("Where did I live before?", "object lives_in user previous"),
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
    today = reader.read("Where did Ben work this year?", now=NOW)
    assert today is None or today.as_of == NOW
    plain_question = reader.read("Where do I live?", now=NOW)
    assert plain_question is not None
    assert plain_question.as_of is None


def test_who_asks_and_who_is_asked(schema: Schema) -> None:
    reader = QuestionReader(schema, asker="Maren", assistant="Kit")
    assert shown(reader.read("Where does my sister live?")) == "object lives_in Maren's sister"
    assert shown(reader.read("How old are you?")) == "object age Kit"
    assert shown(reader.read("我住在哪里？")) == "object lives_in Maren"


def test_every_form_of_the_bundled_file_compiles(schema: Schema) -> None:
    count = 0
    for relation in schema.relations.values():
        for wordings, chinese in ((relation.en, False), (relation.zh, True)):
            for source in wordings.asks:
                for form in compile_form(source, relation.name, "x", chinese=chinese):
                    assert form.patterns
                    assert all(name in schema for name in form.path), source
                    count += 1
    assert count > 500


def test_forms_ask_for_what_their_slots_leave_open() -> None:
    def asks(source: str) -> str:
        return compile_form(source, "r", "")[0].asks

    assert asks("where DO S ~live") == "object"
    assert asks("who ~live in O") == "subject"
    assert asks("(DO|HAVE) S ~live in O") == "whether"
    assert asks("can S ~speak O") == "whether"
    assert asks("object: who BE S with") == "object"
    form = compile_form("subject count: how many things BE O carrying > part_of", "r", "")[0]
    assert (form.asks, form.count, form.path) == ("subject", True, ("r", "part_of"))


def test_the_same_form_inside_a_sentence() -> None:
    def inside(source: str) -> str:
        return " ".join(compile_form(source, "r", "")[-1].tokens)

    assert inside("where DO S ~live") == "where S ~live"
    assert inside("who BE S's boss") == "who S's boss BE"
    assert inside("where BE S working") == "where S BE working"


@pytest.mark.parametrize("source", ["who (a|b S", "who ] S", "S and S", "asks: who is S", "giver thing: who S"])
def test_a_malformed_form_is_an_error_that_names_it(source: str) -> None:
    with pytest.raises(ConfigError, match="cannot read the question form"):
        compile_form(source, "r", "")


def test_what_is_taken_off_a_question() -> None:
    assert plain("Hey, could you please tell me where I live now?").words == "where I live"
    assert plain("It rained. So, who's my boss?").words == "who is my boss"
    assert plain("Where was it before it was in the attic?").before == "the attic"
    assert plain_chinese("请问，我 现在 住在哪里呢？").words == "我住在哪里"


def test_reading_is_stable(schema: Schema, reader: QuestionReader) -> None:
    again = QuestionReader(schema)
    assert [again.read(question) for question in ENGLISH] == [reader.read(question) for question in ENGLISH]
