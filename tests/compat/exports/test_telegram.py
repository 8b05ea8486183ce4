"""Telegram Desktop's JSON: one chat and an account, texts with entities, forwards, service messages, the owner."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message
from tests.compat.exports.conftest import Reading


def said(number, name, who, text, **more):
    own = {"id": number, "type": "message", "date": "2024-05-02T12:00:00", "date_unixtime": "1714644000"}
    return own | {"from": name, "from_id": who, "text": text} | more


TEXT = ["See ", {"type": "mention", "text": "@bob"}, " and ", {"type": "link", "text": "https://a.org"}, ""]
BOB = {
    "name": "Bob",
    "type": "personal_chat",
    "id": 7,
    "messages": [
        {"id": 1, "type": "service", "actor": "Ana", "action": "phone_call", "text": ""},
        said(2, "Bob", "user7", "I live in Rome"),
        said(3, "Ana S", "user5", TEXT, reply_to_message_id=2, edited="2024-05-03T00:00:00"),
        said(4, "Bob", "user7", "", photo="(File not included.)"),
        said(5, "Bob", "user7", "I live on Mars", forwarded_from="News"),
        said(6, "Bob", "user7", "Mine", forwarded_from="Bob"),
    ],
}
GROUP = {
    "name": "Climbers",
    "type": "private_group",
    "id": 9,
    "messages": [said(2, "Ana S", "user5", "Friday?"), said(3, "Eva", "user6", "Yes"), said(4, None, "user8", "No")],
}
ACCOUNT = {
    "about": "…",
    "personal_information": {"user_id": 5, "first_name": "Ana"},
    "stories": [{"deep": [1, {"x": [2.5, None, True]}]}],
    "chats": {
        "about": "…",
        "list": [
            BOB,
            GROUP,
            {"type": "saved_messages", "id": 5, "messages": [said(1, "Ana S", "user5", "Buy milk")]},
            {
                "name": "Weather",
                "type": "public_channel",
                "id": 3,
                "messages": [said(1, "Weather", "channel3", "Rain")],
            },
            {"name": "Helper", "type": "bot_chat", "id": 4, "messages": [said(1, "Helper", "user4", "Hi, I help")]},
        ],
    },
}


def test_a_chat(files):
    found = Reading("telegram", files({"result.json": BOB}))
    first, second, third, _ = found.messages
    assert first == Message(
        "user",
        "I live in Rome",
        datetime(2024, 5, 2, 10, tzinfo=UTC),
        name="Bob",
        session="Bob (Telegram 7)",
        metadata={"title": "Bob", "chat": "7"},
        idempotency_key="telegram:7:2",
    )
    assert (second.name, second.content) == (None, "See @bob and https://a.org")
    assert second.metadata == {"title": "Bob", "chat": "7", "reply_to": 2, "speaker": "Ana S"}
    assert (third.role, third.source, third.metadata["forwarded_by"]) == ("document", "News", "Bob")
    assert found.said[3] == ("user", "Bob", "Mine")
    assert found.reports == ["left out: 1 service messages, 1 messages without text"]


@pytest.mark.parametrize("known", [True, False])
def test_an_account(files, known):
    content = ACCOUNT if known else {key: one for key, one in ACCOUNT.items() if key != "personal_information"}
    found = Reading("telegram", files({"export/result.json": content}, name="t.zip"))
    assert found.said[4:] == [
        ("user", None, "Friday?"),
        ("user", "Eva", "Yes"),
        ("user", "user8", "No"),
        ("user", None, "Buy milk"),
        ("document", None, "Rain"),
        ("assistant", "Helper", "Hi, I help"),
    ]
    assert found.keys[4:6] == ["telegram:9:2", "telegram:9:3"]


def test_the_owner_of_a_group(files):
    path = files({"result.json": GROUP})
    with pytest.raises(InvalidInputError, match="--me NAME, with one of: 'Ana S', 'Eva', 'user8'"):
        Reading("telegram", path)
    for me in ("ana s", "user5", "5"):
        assert Reading("telegram", path, me=[me]).said[0] == ("user", None, "Friday?")
    assert Reading("telegram", path, me=["Eva", "user8"]).said[1:] == [("user", None, "Yes"), ("user", None, "No")]
    twice = GROUP | {"messages": [*GROUP["messages"], said(5, "Eva", "user10", "Hello")]}
    path = files({"result.json": twice})
    with pytest.raises(InvalidInputError, match="2 speakers are called 'Eva'; pass --me with an id: user10, user6"):
        Reading("telegram", path, me=["Eva"])


def test_older_exports_have_local_times(files):
    old = {key: one for key, one in said(1, "Bob", "user7", "x").items() if key != "date_unixtime"}
    path = files(
        {"result.json": BOB | {"messages": [old, said(2, "Ana", "user5", "y", date_unixtime="soon", date="soon")]}}
    )
    found = Reading("telegram", path, zone="Europe/Berlin")
    assert found.messages[0].timestamp == datetime(2024, 5, 2, 10, tzinfo=UTC)
    assert found.messages[1].timestamp is None and "'soon' is not a time" in found.reports[0]


def test_what_is_damaged_is_told_and_the_rest_is_read(files):
    broken = BOB | {"messages": [None, said("x", "Bob", "user7", "no id"), *BOB["messages"]]}
    found = Reading("telegram", files({"result.json": broken}))
    assert len(found.messages) == 4 and sum("not an object with an id" in one for one in found.reports) == 2
    cut = json.dumps(ACCOUNT, indent=1).partition('"Yes"')[0]
    found = Reading("telegram", files({"result.json": cut}))
    assert found.said[-1] == ("user", None, "Friday?")
    assert any("result.json is not JSON" in one and "omitted" in one for one in found.reports)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "does not begin with an object"),
        ({"about": "x"}, "neither messages nor chats"),
        ({"messages": [], "id": 1}, "no id before its messages"),
        ({"id": 1, "messages": 5}, "not a list"),
        ("{", "line 1"),
        ("", "ends early"),
    ],
)
def test_what_is_no_such_export(files, content, words):
    with pytest.raises(MalformedInputError, match=words):
        Reading("telegram", files({"result.json": content}))
