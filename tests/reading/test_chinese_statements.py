"""What is read in Chinese sentences: plain forms, change, denial, the past, kin; and where the reader is silent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Statement, Unit
from nscma_torch.reading.chinese_forms import compile_forms
from nscma_torch.reading.chinese_statements import ChineseReader
from nscma_torch.reading.relations import load_relations

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)
READER = ChineseReader(load_relations())


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
        ("我住在北京。", ["Ludger lives_in 北京"]),
        ("我不再用微信了", ["not Ludger uses 微信"]),
        ("我以前住在重庆。", ["past Ludger lives_in 重庆"]),
        ("我姐姐王芳在北京当老师。", ["Ludger sibling 王芳", "王芳 job 老师"]),
        ("你住在北京。", ["Anna lives_in 北京"]),
        ("我住在北京，我住在北京。", ["Ludger lives_in 北京"]),
        ("I live in Bonn. 我住在北京。", ["Ludger lives_in 北京"]),
        ("I live in Bonn.", []),
    ],
)
def test_plain_statements(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "relation", "value", "old"),
    [
        ("我把喜欢的颜色从红色改成了蓝色", "favourite", "蓝色", "红色"),
        ("小林从南京搬到了青岛。", "lives_in", "青岛", "南京"),
    ],
)
def test_a_change_names_what_it_replaces(text: str, relation: str, value: str, old: str) -> None:
    (statement,) = read(text)
    assert (statement.relation, statement.object, statement.replaces) == (relation, value, old)


def test_a_correction_is_read_with_what_announces_it() -> None:
    first, last = read("我住在北京。说错了。我住在上海。")
    assert [first.correction, last.correction] == [False, True]


def test_a_statement_points_at_its_sentence() -> None:
    text = "今天真热。我住在北京。再见。"
    (statement,) = read(text)
    assert text[statement.start : statement.end] == "我住在北京。"


@pytest.mark.parametrize(
    "text",
    [
        "你住在哪里?",
        "如果我住在北京就好了。",
        "他说他可能搬到北京。",
        "我可能住在北京。",
        "“我住在北京，”王芳说。",
        "听说王芳住在北京。",
        "好了，阿姨叫我吃饭。",
    ],
)
def test_it_is_silent_where_nothing_is_asserted(text: str) -> None:
    assert told(text) == []


def test_every_form_of_the_bundled_file_compiles_with_kinds_of_the_schema() -> None:
    schema = load_relations()
    for form in compile_forms(schema):
        assert set(form.pattern.groupindex) - {"verb"} <= set(form.slots)
        assert set(form.slots.values()) <= set(schema.kinds)


@pytest.mark.parametrize(
    ("text", "source", "subjects"),
    [
        ("我住在北京。", "about.md", ["user"]),
        ("我住在北京。", "novel.txt", []),
        ("住在北京。", "about.md", []),
        ("小明在腾讯工作。住在北京。", "about.md", ["小明", "小明"]),
    ],
)
def test_the_first_person_of_a_document_is_the_user_in_notes_alone(text: str, source: str, subjects: list[str]) -> None:
    unit = Unit("1", Scope("user"), "chunk", text, (), SAID, role="document", name="健康", source=source)
    assert [one.subject for one in READER.read(unit)] == subjects


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我不再吃肉了。", ["not Ludger likes 肉"]),
        ("不再吃肉", ["not Ludger likes 肉"]),
        ("我已经不喝咖啡了。", ["not Ludger likes 咖啡"]),
        ("小明再也不抽烟了。", ["not 小明 likes 烟"]),
        ("我不再住在上海。", ["not Ludger lives_in 上海"]),
        ("我不再吃素了。", ["not Ludger diet 素"]),
        ("我不再吃饭不规律。", []),
        ("我不吃了。", []),
    ],
)
def test_what_somebody_no_longer_does_has_ended(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "林峰于2022年创办了星辰智能科技。这家总部位于深圳的公司专注于人工智能领域，其核心产品是名为“星语”的智能对话助手",
            [
                "林峰 statement [创办] 星辰智能科技",
                "星辰智能科技 located_in 深圳",
                "星辰智能科技 statement [专注于] 人工智能",
                "星辰智能科技 value [核心产品] 星语",
            ],
        ),
        ("王传福在1995年创立了比亚迪，它的总部在深圳。", ["王传福 statement [创立] 比亚迪", "比亚迪 located_in 深圳"]),
        ("华为由任正非于1987年创立。", ["任正非 statement [创立] 华为"]),
        ("小红书是毛文超创办的。", ["毛文超 statement [创办] 小红书"]),
        ("苹果公司的创始人是乔布斯。", ["苹果公司 value [创始人] 乔布斯"]),
        ("林峰是星辰智能科技的创始人。", ["星辰智能科技 value [创始人] 林峰"]),
        ("阿里巴巴总部设在杭州。", ["阿里巴巴 located_in 杭州"]),
        ("星辰智能科技成立于2022年。", ["星辰智能科技 statement [成立于] 2022年"]),
        ("这家公司是后来创办的。", []),
        ("其实我住在上海。", ["Ludger lives_in 上海"]),
    ],
)
def test_what_is_told_of_a_company(text: str, expected: list[str]) -> None:
    assert told(text) == expected
