"""Foreign names that begin with the verb "love"."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.reading.chinese_foreign_names import sounded, written
from nscma_torch.reading.chinese_statements import chinese_reader
from nscma_torch.records import Scope, Unit
from nscma_torch.relations import load_relations


@pytest.mark.parametrize("text", ["爱丽丝住在上海。", "我和爱德华是朋友。", "爱玛喜欢茶"])
def test_a_foreign_name_has_no_verb(text: str) -> None:
    assert "爱" not in sounded(text) and len(sounded(text)) == len(text)
    assert written(sounded(text), text) == text


@pytest.mark.parametrize("text", ["我爱吃面", "爱米饭", "他爱丽江", "我爱德国"])
def test_love_stays_a_verb(text: str) -> None:
    assert sounded(text) == text


def test_a_statement_names_alice() -> None:
    unit = Unit("1", Scope("u"), "chunk", "爱丽丝住在上海，在腾讯工作。", (), datetime(2026, 3, 5, tzinfo=UTC))
    told = {(one.subject, one.relation, one.object) for one in chinese_reader(load_relations()).read(unit)}
    assert ("爱丽丝", "lives_in", "上海") in told and ("爱丽丝", "works_at", "腾讯") in told
