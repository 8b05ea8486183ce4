"""Discord: DiscordChatExporter's JSON, and the data package in JSON and CSV."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message
from tests.compat.exports.conftest import Reading


def said(number, author, content, kind="Default", **more):
    people = {"10": ("ana", "Ana S"), "11": ("bob99", "Bob"), "12": ("helper", "Helper")}
    name, nickname = people[author]
    return {
        "id": number,
        "type": kind,
        "timestamp": "2024-05-02T12:00:00.123+02:00",
        "content": content,
        "author": {"id": author, "name": name, "nickname": nickname, "isBot": author == "12"},
        "mentions": [{"id": "10", "name": "ana", "nickname": "Ana S"}],
    } | more


CHANNEL = {
    "guild": {"id": "1", "name": "Chess club"},
    "channel": {"id": "20", "type": "GuildTextChat", "name": "general", "topic": None},
    "dateRange": {"after": None, "before": None},
    "exportedAt": "2024-06-01T00:00:00+00:00",
    "messages": [
        said("100", "11", "Joined.", "GuildMemberJoin"),
        said("101", "11", "Hi <@10> <:wave:77>"),
        said("102", "10", "Hi!", "Reply", reference={"messageId": "101", "channelId": "20"}),
        said("103", "12", "pong", "20"),
        said("104", "11", "", attachments=[{"id": "1"}]),
        said("105", "11", "", reference={"messageId": "5"}, forwardedMessage={"content": "I am a king"}),
    ],
    "messageCount": 6,
}


def test_chat_exporter(files):
    found = Reading("discord", files({"general.json": CHANNEL, "general.json_Files/a.json": {}}), me=["ana"])
    assert found.said == [
        ("user", "Bob", "Hi @Ana S :wave:"),
        ("user", None, "Hi!"),
        ("assistant", "Helper", "pong"),
        ("document", None, "I am a king"),
    ]
    assert found.messages[1] == Message(
        "user",
        "Hi!",
        datetime(2024, 5, 2, 10, 0, 0, 123000, UTC),
        session="Chess club #general (Discord 20)",
        metadata={"title": "Chess club #general", "channel_id": "20", "reply_to": "101", "speaker": "Ana S"},
        idempotency_key="discord:20:102",
    )
    assert found.messages[3].metadata["forwarded_by"] == "Bob"
    assert found.reports == ["left out: 1 notices, 1 messages without text"]


def test_direct_messages_and_other_files(files):
    direct = {**CHANNEL, "guild": {"id": "0", "name": "Direct Messages"}, "channel": {"id": "30", "name": "Bob"}}
    odd = {**CHANNEL, "messages": [said("1", "11", "good"), {"id": "2"}, said("3", "11", "too", timestamp="soon")]}
    path = files({"a.json": direct, "b.json": [1], "c.json": odd, "d.json": {"channel": {"id": "1"}}})
    found = Reading("discord", path, me=["10"])
    assert found.messages[0].session == "Bob (Discord 30)"
    assert [one.content for one in found.messages[4:]] == ["good", "too"]
    for words in ("b.json is not JSON by", "author of message '2'", "'soon' is not a time", "d.json is not JSON by"):
        assert any(words in one for one in found.reports), words
    with pytest.raises(InvalidInputError, match=r"one of: 'Bob', 'Ana S'$"):
        Reading("discord", path)


PACKAGE = {
    "Account/user.json": {"id": "10", "username": "ana", "global_name": "Ana S"},
    "Messages/index.json": {"2000000": "general in Chess club", "3000000": "Direct Message with bob99#0"},
    "Messages/c2000000/channel.json": {"id": "2000000", "name": "general", "guild": {"id": "1", "name": "Chess club"}},
    "Messages/c2000000/messages.json": [
        {"ID": 101, "Timestamp": "2024-05-02 10:00:00", "Contents": "Hi <@11>", "Attachments": ""},
        {"ID": 102, "Timestamp": "2024-05-02 10:00:00", "Contents": "", "Attachments": "https://cdn"},
        {"Timestamp": "2024-05-02 10:00:00", "Contents": "x"},
    ],
    "Messages/c3000000/messages.csv": "ID,Timestamp,Contents,Attachments\n"
    '103,2024-05-02 10:00:00.5+00:00,"a, ""b""\nc",\n',
}


@pytest.mark.parametrize("name", ["folder", "package.zip"])
def test_the_data_package(files, name):
    found = Reading("discord", files(PACKAGE, name=name))
    assert found.said == [("user", None, "Hi @11"), ("user", None, 'a, "b"\nc')]
    first, second = found.messages
    assert first.timestamp == datetime(2024, 5, 2, 10, tzinfo=UTC)
    assert first.session == "Chess club #general (Discord 2000000)" and first.metadata["speaker"] == "Ana S"
    assert first.idempotency_key == "discord:2000000:101"
    assert second.timestamp == datetime(2024, 5, 2, 10, 0, 0, 500000, UTC)
    assert any("lacks one of ID" in one for one in found.reports)
    assert "left out: 1 messages without text" in found.reports


def test_what_is_no_such_export(files):
    with pytest.raises(MalformedInputError, match="no channel with an id"):
        Reading("discord", files({"a.json": {"messages": []}}))
    with pytest.raises(InvalidInputError, match=r"contains no file ….json"):
        Reading("discord", files({"a.html": "x"}, name="pages"))
