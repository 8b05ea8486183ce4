"""Signal's chats as sigexport writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from tests.compat.exports.conftest import Reading


def line(sender, body, date="2024-05-02T12:00:00.123000", **more):
    return json.dumps({"date": date, "sender": sender, "body": body, "quote": "", "sticker": None} | more) + "\n"


CHAT = line("Me", "Hi  ") + line("Bob", "Hi") + line("Bob", "  ") + line("Bob", "Missed call", call=True)


def test_signal(files):
    content = CHAT + "{oops\n" + '{"date": 5}\n' + line("Bob", "late", "soon")
    found = Reading("signal", files({"Bob/data.json": content, "Eva/data.json": line("Me", "Hi")}), zone="Europe/Rome")
    assert found.said == [("user", None, "Hi"), ("user", "Bob", "Hi"), ("user", "Bob", "late"), ("user", None, "Hi")]
    assert found.messages[0].timestamp == datetime(2024, 5, 2, 10, 0, 0, 123000, UTC)
    assert found.messages[0].session == "Bob (Signal)" and len(set(found.keys)) == 4
    assert any("Bob/data.json: line 5 is not JSON" in one for one in found.reports)
    assert any("line 6 lacks date, sender or body" in one for one in found.reports)
    assert "left out: 2 calls, and messages without text" in found.reports


def test_a_newer_export_keeps_the_keys(files):
    older = Reading("signal", files({"Bob/data.json": CHAT}))
    newer = Reading("signal", files({"Bob/data.json": line("Me", "Before", "2024-01-01T00:00:00") + CHAT}))
    assert newer.keys[1:] == older.keys


def test_what_is_no_such_export(files):
    with pytest.raises(MalformedInputError, match="as sigexport writes it"):
        Reading("signal", files({"Bob/data.json": "[\n"}))
    with pytest.raises(InvalidInputError, match="--me does not apply to exports of signal"):
        Reading("signal", files({"Bob/data.json": CHAT}), me=["Bob"])
