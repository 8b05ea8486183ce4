"""Chinese passages about somebody else than who asks."""

from __future__ import annotations

import pytest

from nscma_torch.reading.chinese_subjects import is_of_another


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("我有糖尿病吗？", "我妈妈有糖尿病。"),
        ("我在哪里工作？", "我哥在华为工作，住在深圳。"),
        ("请问我怕什么？", "我最好的朋友怕狗"),
        ("我会游泳吗？", "我弟弟会游泳。他去年学会的。"),
    ],
)
def test_a_relative_is_not_who_asks(question: str, passage: str) -> None:
    assert is_of_another(question, passage)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("我有糖尿病吗？", "我有糖尿病。"),
        ("我有糖尿病吗？", "我妈妈有糖尿病，我也有。"),
        ("我有糖尿病吗？", "我和我妈妈都有糖尿病。"),
        ("我妈妈有糖尿病吗？", "我妈妈有糖尿病。"),
        ("我买了什么？", "昨天买了花送给我妈妈。"),
        ("我吃了什么？", "我妈妈来了，一起吃了火锅。"),
        ("我吃了什么？", "我妈妈来了。吃了火锅。"),
        ("我为什么请假？", "我妈妈生病了。"),
        ("谁有糖尿病？", "我妈妈有糖尿病。"),
        ("我有孩子吗？", "我女儿五岁。"),
        ("我在哪里工作？", ""),
    ],
)
def test_other_passages_may_answer(question: str, passage: str) -> None:
    assert not is_of_another(question, passage)
