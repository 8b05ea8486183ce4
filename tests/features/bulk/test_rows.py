"""Rows of JSON lines and Parquet: whose they are, their keys, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import InvalidInputError, TimestampError
from nscma_torch.core.records import Scope
from nscma_torch.features.bulk.rows import BulkRow, check_file, files_of, read_rows
from nscma_torch.text.files.file_keys import place_in, place_of

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def rows_in(path: Path, **given: Any) -> list[BulkRow]:
    checked = check_file(path, LimitsConfig(), NOW, **given)
    rows = list(read_rows(path, LimitsConfig(), NOW, **given))
    assert len(rows) == checked.rows
    return rows


def lines(path: Path, *values: Any) -> Path:
    path.write_text("\n".join(value if isinstance(value, str) else json.dumps(value) for value in values))
    return path


def test_a_row_says_whose_it_is(tmp_path: Path) -> None:
    row = {
        **{"user_id": 7, "agent_id": "a", "run_id": "r", "id": "k", "source": "letter.md", "session": "s"},
        **{"role": "user", "content": "Hello.", "timestamp": "2026-05-01T10:00:00", "metadata": {"x": 1}, "mood": "ok"},
    }
    (only,) = rows_in(lines(tmp_path / "rows.jsonl", row))
    message = only.message
    assert only.scope == Scope("7", "a", "r")
    assert (message.idempotency_key, message.source, message.session) == ("k", "letter.md", "s")
    assert message.timestamp == datetime(2026, 5, 1, 10, tzinfo=UTC) and message.metadata == {"x": 1, "mood": "ok"}


def test_a_row_keeps_its_key_where_its_file_has_grown(tmp_path: Path) -> None:
    """And two equal rows of one user have two."""
    said = [{"user_id": user, "role": "user", "content": "ok"} for user in ("ana", "bob", "ana")]
    path = tmp_path / "rows.jsonl"
    before = [row.message.idempotency_key for row in rows_in(lines(path, *said))]
    after = [row.message.idempotency_key for row in rows_in(lines(path, {**said[0], "content": "Hello."}, *said))]
    assert after[1:] == before and len({(row["user_id"], key) for row, key in zip(said, before, strict=True)}) == 3


def test_a_row_without_an_id_has_the_key_of_the_file_readers(tmp_path: Path) -> None:
    from nscma_torch.text.files.file_readers import read_messages

    said = {"role": "user", "content": "Hello."}
    path = lines(tmp_path / "rows.jsonl", said, "", said)
    rows = rows_in(path, user_id="ana")
    keys = [message.idempotency_key for message in read_messages(path)]
    assert [row.message.idempotency_key for row in rows] == keys


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{", "line 2: not JSON"),
        ([1], "line 2: a row must be an object"),
        ({"role": "user", "content": "x"}, 'line 2: no "user_id"'),
        ({"user_id": "", "role": "user", "content": "x"}, 'line 2: no "user_id"'),
        ({"user_id": "a", "role": "boss", "content": "x"}, "line 2: role must be one of"),
        ({"user_id": "a", "role": "user", "content": "x", "source": [1]}, "line 2: source must be a string"),
        (
            {"user_id": "a", "role": "user", "content": "x", "timestamp": "2027-01-01"},
            "line 2: the timestamp .* future",
        ),
        ({"user_id": "a", "role": "user", "content": "y" * 2_000_000}, "line 2: a message has 2,000,000 bytes"),
    ],
)
def test_a_bad_row_names_its_place(value: Any, told: str, tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.jsonl", {"user_id": "a", "role": "user", "content": "x"}, value)
    with pytest.raises(InvalidInputError, match=f"rows.jsonl: {told}"):
        check_file(path, LimitsConfig(), NOW)


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b.jsonl", "a.ndjson", "in/c.jsonl", "other.csv"):
        lines(tmp_path / name, {})
    found = [tmp_path / name for name in ("b.jsonl", "a.ndjson", "in/c.jsonl")]
    assert files_of([str(found[0]), str(tmp_path)]) == found
    assert files_of([str(tmp_path / "*.jsonl"), str(tmp_path / "**/c.*")]) == [found[0], found[2]]
    for wrong in ("none.jsonl", "other.csv", "x*"):
        with pytest.raises(InvalidInputError, match=r"\.jsonl, \.ndjson, \.parquet"):
            files_of([str(tmp_path / wrong)])


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra ray is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    said = datetime(2026, 5, 1, 10)
    table = arrow.table(
        {
            "user_id": ["ana", "bob", None],
            "role": ["user"] * 3,
            "content": ["one", "two", "three"],
            "timestamp": arrow.array([said] * 3, arrow.timestamp("us")),
            "metadata": [{"x": 1, "y": None}, None, {"x": 2, "y": "z"}],
            "id": ["k1", None, None],
        }
    )
    parquet.write_table(table, tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    one, two, three = rows_in(path, user_id="cleo")
    assert (one.scope.user_id, two.scope.user_id, three.scope.user_id) == ("ana", "bob", "cleo")
    assert one.message.timestamp == said.replace(tzinfo=UTC)
    assert (one.message.metadata, two.message.metadata, three.message.metadata) == ({"x": 1}, {}, {"x": 2, "y": "z"})
    keys = [row.message.idempotency_key for row in (one, two, three)]
    assert keys[0] == "k1" and [place_in(key) for key in keys[1:]] == [place_of(path)] * 2
    with pytest.raises(InvalidInputError, match=r'rows\.parquet: row 3: no "user_id"'):
        check_file(path, LimitsConfig(), NOW)
    with pytest.raises(TimestampError, match=r"rows\.parquet: row 1: "):
        check_file(path, LimitsConfig(), datetime(2026, 4, 1, tzinfo=UTC), user_id="cleo")
    texts = {"user_id": ["a"] * 2, "role": ["user"] * 2, "content": ["x"] * 2, "metadata": ['{"x": 3}', "{"]}
    parquet.write_table(arrow.table(texts), path)
    with pytest.raises(InvalidInputError, match="row 2: metadata is a string"):
        check_file(path, LimitsConfig(), NOW)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInputError, match="not a Parquet file that can be read"):
        check_file(path, LimitsConfig(), NOW)
