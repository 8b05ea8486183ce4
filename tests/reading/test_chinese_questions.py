"""Chinese questions as walks over facts: forms of the schema, nouns, owners, dates, "before", and what is no query."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import ConfigError
from nscma_torch.reading.chinese_question_forms import compile_form
from nscma_torch.reading.chinese_question_text import plain
from nscma_torch.reading.chinese_questions import ChineseQuestionReader
from nscma_torch.reading.relations import Schema, load_relations
from tests.helpers.shown_query import shown

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


@pytest.fixture(scope="module")
def reader(schema: Schema) -> ChineseQuestionReader:
    return ChineseQuestionReader(schema)


QUESTIONS = {
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


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_that_facts_can_answer(reader: ChineseQuestionReader, question: str) -> None:
    assert shown(reader.read(question, asker="user")) == QUESTIONS[question]


@pytest.mark.parametrize("question", ["今天天气怎么样？", "她住在哪里？", "为什么？"])
def test_what_fits_no_form_or_names_nobody_is_no_query(reader: ChineseQuestionReader, question: str) -> None:
    assert reader.read(question, asker="user", now=NOW) is None


def test_a_question_that_follows_another(reader: ChineseQuestionReader) -> None:
    first = reader.read("我住在哪里？", asker="Maren")
    assert shown(first) == "object lives_in Maren"
    assert shown(reader.read("之前呢？", asker="Maren", follows=first)) == "object lives_in Maren previous"
    assert reader.read("之前呢？", asker="Maren") is None


def test_dates_in_the_question_are_the_time_asked_about(reader: ChineseQuestionReader) -> None:
    year = reader.read("2019年我住在哪里？", asker="user", now=NOW)
    assert year is not None
    assert (shown(year), year.as_of) == ("object lives_in user", datetime(2019, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))


def test_every_form_of_the_bundled_file_compiles(schema: Schema) -> None:
    count = 0
    for relation in schema.relations.values():
        for source in relation.zh.asks:
            form = compile_form(source, relation.name, "x")
            assert form.pattern
            assert all(name in schema for name in form.path), source
            count += 1
    assert count > 150


def test_forms_ask_for_what_their_slots_leave_open() -> None:
    def asks(source: str) -> str:
        return compile_form(source, "r", "").asks

    assert asks("S 住 在 哪里") == "object"
    assert asks("谁 住 在 O") == "subject"
    assert asks("S 住 在 O") == "whether"
    assert asks("S 有 NOUN 吗") == "whether"
    form = compile_form("subject count: 几个 人 在 O > part_of", "r", "")
    assert (form.asks, form.count, form.path) == ("subject", True, ("r", "part_of"))


@pytest.mark.parametrize("source", ["谁 (甲|乙 S", "谁 ] S", "S 和 S", "asks: 谁 是 S", "giver thing: 谁 S"])
def test_a_malformed_form_is_an_error_that_names_it(source: str) -> None:
    with pytest.raises(ConfigError, match="cannot read the question form"):
        compile_form(source, "r", "")


def test_what_is_taken_off_a_question() -> None:
    assert plain("请问，我 现在 住在哪里呢？").words == "我住在哪里"
