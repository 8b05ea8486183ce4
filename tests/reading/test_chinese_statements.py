"""What is read in Chinese sentences: plain forms, change, denial, the past, kin; and where the reader is silent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.reading.chinese_forms import compile_forms
from nscma_torch.reading.chinese_statements import ChineseReader
from nscma_torch.records import Scope, Statement, Unit
from nscma_torch.relations import load_relations

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
