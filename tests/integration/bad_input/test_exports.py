"""Exports that are damaged or belong elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, MalformedInputError

Open = Callable[..., Memory]
Contents = Callable[[Path], dict[str, list[Any]]]


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda rows: ["", *rows], "line 1.*header"),
        (lambda rows: [rows[0].replace("nscma-export", "other"), *rows[1:]], "line 1.*header"),
        (lambda rows: [rows[0].replace('"schema": ', '"schema": 9'), *rows[1:]], "line 1.*schema 9"),
        (lambda rows: [*rows[:4], rows[4][:-9], *rows[5:]], "line 5.*not JSON"),
        (lambda rows: [*rows[:4], "[]", *rows[4:]], "line 5.*not an export row"),
        (lambda rows: [*rows[:4], '{"table": ["x"]}', *rows[4:]], "line 5.*not an export row"),
        (lambda rows: [*rows[:4], '{"table": "episodes"}', *rows[4:]], "line 5.*not an export row"),
        (
            lambda rows: [row for row in rows if '"table": "episodes"' not in row],
            "line .*episodes, which does not exist",
        ),
        (
            lambda rows: [row.replace('"status": "active"', '"status": 7') for row in rows],
            "episodes.status has type int",
        ),
        (
            lambda rows: [row.replace('"importance": ', '"importance": NaN, "x": ') for row in rows],
            "not an export row|NaN",
        ),
        (lambda rows: [*rows, rows[-1]], "conflicts with another row"),
        (lambda rows: [_nan_vector(row) for row in rows], "vector.*finite"),
    ],
)
def test_exports_that_are_damaged(
    damage: Callable[[list[str]], list[str]], match: str, filled: Memory, open_memory: Open
) -> None:
    lines = damage(list(filled.export()))
    empty = open_memory("empty.db")
    with pytest.raises(MalformedInputError, match=match):
        empty.import_(lines)
    assert empty.stats().messages == 0
    assert empty.stats().embedder is None
    assert empty.verify() == []


def _nan_vector(row: str) -> str:
    fields = json.loads(row)
    return json.dumps({**fields, "vector": "AADAfw=="}) if fields.get("table") == "vectors" else row


def test_an_export_of_a_user_who_is_there_already(filled: Memory, untouched: Any) -> None:
    lines = list(filled.export())
    with untouched(InvalidInputError, "already contains user 'ada'"):
        filled.import_(lines)
