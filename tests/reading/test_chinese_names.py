"""Names with the verb "love" in them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Unit
from nscma_torch.reading.chinese_names import sounded, written
from nscma_torch.reading.chinese_statements import chinese_reader
from nscma_torch.reading.relations import load_relations


@pytest.mark.parametrize(
    "text",
    [
        "爱丽丝住在上海。",
        "我和爱德华是朋友。",
        "爱玛喜欢茶",
        "爱萍今年三十岁",
        "你好，爱军喜欢游泳。",
        "我弟弟爱民是老师",
        "陈爱莲在医院工作",
    ],
)
def test_a_name_has_no_verb(text: str) -> None:
    assert "爱" not in sounded(text) and len(sounded(text)) == len(text)
    assert written(sounded(text), text) == text


@pytest.mark.parametrize("text", ["我爱吃面", "爱米饭", "他爱丽江", "我爱德国", "我住在北京，爱猫和狗", "我妈妈爱兰花"])
def test_love_stays_a_verb(text: str) -> None:
    assert sounded(text) == text


def test_a_statement_names_alice() -> None:
    unit = Unit("1", Scope("u"), "chunk", "爱丽丝住在上海，在腾讯工作。", (), datetime(2026, 3, 5, tzinfo=UTC))
    told = {(one.subject, one.relation, one.object) for one in chinese_reader(load_relations()).read(unit)}
    assert ("爱丽丝", "lives_in", "上海") in told and ("爱丽丝", "works_at", "腾讯") in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("爱玲有糖尿病。", [("爱玲", "has_condition", "糖尿病")]),
        ("爱军是我的同事。", [("user", "colleague", "爱军")]),
        ("王爱民喜欢足球。", [("王爱民", "likes", "足球")]),
        ("我爱人是医生。", []),
        ("我爱国。", []),
        ("我爱犬叫旺财。", [("user", "pet", "旺财")]),
        ("爱党是我的邻居。", []),
        ("我爱上了滑雪。", [("user", "likes", "滑雪")]),
        ("我爱好摄影。", [("user", "likes", "摄影")]),
        ("我真的爱北京。", [("user", "likes", "北京")]),
        ("爱吃火锅。", [("user", "likes", "火锅")]),
    ],
)
def test_love_is_read_only_as_a_verb(text: str, expected: list[tuple[str, str, str]]) -> None:
    unit = Unit("1", Scope("u"), "chunk", text, (), datetime(2026, 3, 5, tzinfo=UTC))
    told = chinese_reader(load_relations()).read(unit)
    assert [(one.subject, one.relation, one.object) for one in told] == expected
