"""Slack's workspace export: names, markup, threads, bots, notices, direct messages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message
from tests.compat.exports.conftest import Reading

USERS = [
    {"id": "U1", "name": "ana", "real_name": "Ana Silva", "profile": {"display_name": "", "email": "ana@a.org"}},
    {"id": "U2", "name": "bob", "profile": {"display_name": "bobby", "real_name": "Bob Lee"}},
    {"id": "U3", "name": "ci", "is_bot": True, "profile": {"real_name": "CI"}},
]
DAY = [
    {"type": "message", "user": "U2", "text": "&lt;ok&gt; &amp;amp; <@U1>, <@U9|zoe>", "ts": "1714644001.000200"},
    {"type": "message", "user": "U1", "text": "Lunch?", "ts": "1714644000.000100", "thread_ts": "1714644000.000100"},
    {
        "type": "message",
        "user": "U2",
        "text": "<#C2|old> <#C9|x> <https://a.org|this> <http://b.org> <mailto:a@b.c|a@b.c> <!here> <!subteam^S|@team>",
        "ts": "1714644002.000300",
        "thread_ts": "1714644000.000100",
        "edited": {"user": "U2", "ts": "1714644005.000000"},
    },
    {"type": "message", "subtype": "channel_join", "user": "U2", "text": "<@U2> has joined", "ts": "1714644003.0"},
    {
        "type": "message",
        "subtype": "bot_message",
        "bot_id": "B1",
        "username": "Deploys",
        "text": "Done",
        "ts": "1714644004.0",
    },
    {"type": "message", "user": "U3", "text": "Green", "ts": "1714644006.0"},
    {"type": "message", "user": "U8", "text": "Hi", "ts": "1714644007.0", "user_profile": {"real_name": "Eve"}},
    {"type": "message", "user": "U1", "text": "", "files": [{"id": "F1"}], "ts": "1714644008.0"},
]
EXPORT = {
    "users.json": USERS,
    "channels.json": [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}],
    "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    "general/2024-05-02.json": DAY,
    "D1/2024-05-01.json": [{"type": "message", "user": "U2", "text": "Psst", "ts": "1714557600.0"}],
    "integration_logs.json": [],
}


@pytest.mark.parametrize("name", ["folder", "export.zip"])
def test_slack(files, name):
    found = Reading("slack", files(EXPORT, name=name), me=["ana@a.org"])
    assert found.said == [
        ("user", "bobby", "Psst"),
        ("user", None, "Lunch?"),
        ("user", "bobby", "<ok> &amp; @Ana Silva, @zoe"),
        ("user", "bobby", "#random #x this (https://a.org) http://b.org a@b.c @here @team"),
        ("assistant", "Deploys", "Done"),
        ("assistant", "CI", "Green"),
        ("user", "Eve", "Hi"),
    ]
    first, second, _, reply, *_ = found.messages
    assert first.session == "Ana Silva, bobby (Slack D1)" and first.idempotency_key == "slack:D1:1714557600.0"
    assert second == Message(
        "user",
        "Lunch?",
        datetime(2024, 5, 2, 10, 0, 0, 100, UTC),
        session="#general (Slack C1)",
        metadata={"channel": "#general", "channel_id": "C1", "speaker": "Ana Silva"},
        idempotency_key="slack:C1:1714644000.000100",
    )
    assert reply.metadata["thread"] == "1714644000.000100" and "thread" not in second.metadata
    assert found.reports == ["left out: 1 notices and deleted messages, 1 messages without text"]


def test_the_owner_is_asked_for(files):
    with pytest.raises(InvalidInputError, match=r"one of: 'bobby', 'Ana Silva', 'Eve'$"):
        Reading("slack", files(EXPORT))
    assert Reading("slack", files(EXPORT), me=["U2"]).said[0] == ("user", None, "Psst")


def test_a_channel_that_was_renamed_or_is_not_listed(files):
    renamed = {**EXPORT, "channels.json": [{"id": "C1", "name": "all"}], "all/2024-05-02.json": DAY}
    del renamed["general/2024-05-02.json"]
    older, newer = (
        Reading("slack", files(one, name=name), me=["ana"]) for name, one in (("a", EXPORT), ("b", renamed))
    )
    assert older.keys == newer.keys
    alone = {"general/2024-05-02.json": DAY}
    assert Reading("slack", files(alone, name="c"), me=["U1"]).messages[0].session == "general (Slack general)"


def test_what_is_damaged_is_told_and_the_rest_is_read(files):
    damaged = {**EXPORT, "D1/2024-05-01.json": {"no": "list"}, "general/2024-05-03.json": [None, {"ts": "soon"}]}
    found = Reading("slack", files(damaged), me=["ana"])
    assert len(found.messages) == 6
    assert [one.partition(";")[0] for one in found.reports[:3]] == [
        "D1/2024-05-01.json is not a list but dict",
        "general/2024-05-03.json: message 1 is not an object with a ts",
        "general/2024-05-03.json: message 2 is not an object with a ts",
    ]
    with pytest.raises(InvalidInputError, match=r"CHANNEL/YYYY-MM-DD.json"):
        Reading("slack", files({"users.json": USERS}, name="empty"))
    with pytest.raises(MalformedInputError, match=r"users\.json is not a list"):
        Reading("slack", files({**EXPORT, "users.json": {}}, name="odd"))
