"""ChatGPT's and Claude's data exports: small files of their shape, as a file, a folder and an archive."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

import pytest

from nscma_torch.compat.exports.importing import read_export
from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import EmptyTextError, InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message


def node(key, parent, role=None, parts=(), *, kind="text", when=None, recipient="all", **more):
    message = None
    if role is not None:
        message = {
            "id": f"m-{key}",
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": when,
            "content": {"content_type": kind, "parts": list(parts)},
            "recipient": recipient,
            "metadata": more,
        }
    return {"id": key, "parent": parent, "children": [], "message": message}


def conversation(*nodes, current="last", **more):
    return {
        "title": "Trip",
        "create_time": 1736209400.0,
        "conversation_id": "8f3a2b1c-0000",
        "mapping": {one["id"]: one for one in nodes},
        **({} if current is None else {"current_node": current}),
        **more,
    }


MIXED = "multimodal_text"
NODES = (
    node("root", None),
    node("sys", "root", "system", ["You are …"], is_visually_hidden_from_conversation=True),
    node("old", "sys", "user", ["Where is Leds?"], when=1736209401.0),
    node("q", "sys", "user", ["Where is Leeds?"], when=1736209412.5),
    node("think", "q", "assistant", kind="thoughts"),
    node("call", "think", "assistant", ["search(1)"], recipient="browser"),
    node("result", "call", "tool", ["a page"]),
    node("a", "result", "assistant", ["In Yorkshire.", {"content_type": "image_asset_pointer"}], kind=MIXED),
    node("last", "a", "user", [{"content_type": "audio_transcription", "text": "Thanks!"}], kind=MIXED),
)


def read(path, kind):
    return [one.message for one in read_export(kind, path)]


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="conversations.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write_file


def test_chatgpt_takes_the_branch_that_was_shown(write):
    first, second, third = read(write([conversation(*NODES)]), "chatgpt")
    assert first == Message(
        "user",
        "Where is Leeds?",
        datetime(2025, 1, 7, 0, 23, 32, 500000, UTC),
        session="Trip (8f3a2b1c)",
        metadata={"title": "Trip", "conversation": "8f3a2b1c-0000"},
        idempotency_key="chatgpt:8f3a2b1c-0000:m-q",
    )
    assert (second.role, second.content, second.timestamp) == ("assistant", "In Yorkshire.", first.timestamp)
    assert (third.role, third.content) == ("user", "Thanks!")


def test_chatgpt_without_current_node_takes_the_newest_leaf(write):
    nodes = (node("r", None), node("a", "r", "user", ["a"], when=2), node("b", "r", "user", ["b"], when=3))
    assert [one.content for one in read(write([conversation(*nodes, current=None)]), "chatgpt")] == ["b"]


def test_an_archive_and_a_folder_in_parts(tmp_path, write):
    parts = [[conversation(*NODES)], [conversation(node("last", None, "user", ["Hi"]), conversation_id="other")]]
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for number, part in enumerate(parts):
            made.writestr(f"data/conversations-{number:03}.json", json.dumps(part))
            write(part, f"folder/conversations-{number:03}.json")
        made.writestr("user.json", "{}")
    found = read(archive, "chatgpt")
    assert [one.content for one in found] == ["Where is Leeds?", "In Yorkshire.", "Thanks!", "Hi"]
    assert read(tmp_path / "folder", "chatgpt") == found


def said(uuid, sender, text="", blocks=None, **more):
    own = {"uuid": uuid, "sender": sender, "text": text, "content": [] if blocks is None else blocks}
    return own | {"created_at": "2025-10-06T00:55:16Z"} | more


CLAUDE = [
    {
        "uuid": "c1c1c1c1-0000",
        "name": "Garden",
        "created_at": "2025-10-06T00:55:00Z",
        "account": {"uuid": "x"},
        "chat_messages": [
            said("u1", "human", "Look at this", attachments=[{"file_name": "n.txt", "extracted_content": "Rose list"}]),
            said(
                "u2",
                "assistant",
                "This block is not supported on your current device yet.",
                [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "name": "x", "input": {}},
                    {"type": "text", "text": "Roses."},
                    {"type": "text", "text": "Nice ones."},
                ],
            ),
            said("u3", "human", "   "),
        ],
    },
    {"uuid": "empty", "name": "", "chat_messages": []},
]


def test_claude(write):
    attached, first, second = read(write(CLAUDE), "claude")
    when = datetime(2025, 10, 6, 0, 55, 16, tzinfo=UTC)
    shared = {"session": "Garden (c1c1c1c1)", "metadata": {"title": "Garden", "conversation": "c1c1c1c1-0000"}}
    key = "claude:c1c1c1c1-0000:u1"
    assert attached == Message("document", "Rose list", when, source="n.txt", idempotency_key=f"{key}:0", **shared)
    assert first == Message("user", "Look at this", when, idempotency_key=key, **shared)
    assert (second.role, second.content) == ("assistant", "Roses.\nNice ones.")


@pytest.mark.parametrize(
    ("kind", "content", "error", "words"),
    [
        ("chatgpt", {"a": 1}, MalformedInputError, "not a list"),
        ("chatgpt", [5], MalformedInputError, "conversation 1"),
        ("chatgpt", [{"title": "x"}], MalformedInputError, "mapping"),
        ("chatgpt", [conversation(node("a", "a"), current="a")], MalformedInputError, "own ancestor"),
        ("chatgpt", [conversation(node("a", None), current="b")], MalformedInputError, "missing"),
        ("chatgpt", [conversation(node("last", None))], EmptyTextError, "no message"),
        ("chatgpt", "[{", MalformedInputError, "line 1"),
        ("claude", [{"uuid": "x"}], MalformedInputError, "chat_messages"),
        ("claude", [], EmptyTextError, "no message"),
        ("copilot", [], InvalidInputError, "chatgpt, claude"),
    ],
)
def test_what_is_no_such_export(write, kind, content, error, words):
    with pytest.raises(error, match=words):
        read(write(content), kind)


def unlinked(*nodes):
    """The nodes as exports without `parent` have them."""
    return [{key: value for key, value in one.items() if key != "parent"} for one in nodes]


GOOD = conversation(node("last", None, "user", ["I grow tomatoes."]))
THREE = (node("a", None, "user", ["1"]), node("b", "a", "assistant", ["2"]), node("last", "b", "user", ["3"]))
TIMED = [node(key, None, "user", [key], when=when) for key, when in (("2", 20.0), ("3", 30.0), ("1", 10.0))]


@pytest.mark.parametrize(
    ("kind", "bad", "texts", "told"),
    [
        ("chatgpt", None, [], "conversation 2 is not an object"),
        ("chatgpt", {"title": "x", "mapping": None}, [], "mapping is not an object"),
        ("chatgpt", conversation(*THREE, current="zz"), ["1", "2", "3"], "node 'zz' is missing"),
        ("chatgpt", conversation(*THREE[1:]), ["2", "3"], "node 'a' is missing"),
        ("chatgpt", conversation(*unlinked(*TIMED)), ["1", "2", "3"], None),
        ("chatgpt", conversation(*unlinked({**THREE[0], "children": ["last"]}, THREE[2])), ["1", "3"], None),
        (
            "chatgpt",
            conversation(node("last", None, "user", ["I went to Oslo \ud83d"])),
            ["I went to Oslo \ufffd"],
            "U+FFFD",
        ),
        ("chatgpt", conversation(node("last", None, "user", ["x"]), title="Trip \ud83c"), ["x"], None),
        (
            "chatgpt",
            conversation(node("last", None, "user", ["ab" * 150])),
            ["ab" * 100],
            "cut to limits.max_message_bytes",
        ),
        ("chatgpt", conversation(node("last", None, "user", ["x"], when=4e9)), ["x"], "is in the future"),
        ("chatgpt", conversation(node("last", None, "user", ["x"], when="soon")), ["x"], "'soon' is not a time"),
        ("claude", {"uuid": "x", "chat_messages": None}, [], "chat_messages is not a list"),
        (
            "claude",
            {"uuid": "x", "chat_messages": [None, said("u", "human", "x")]},
            ["x"],
            "message 1 is not an object",
        ),
        ("claude", {"chat_messages": [said("u", None, "x"), said("v", "human", "y")]}, ["y"], "unknown sender None"),
        ("claude", {"chat_messages": [said("u", "human", "x", attachments=5, content=None)]}, ["x"], None),
        ("claude", {"chat_messages": [said("u", "human", "x", created_at="soon")]}, ["x"], "not a time"),
    ],
)
def test_what_is_wrong_with_a_conversation_is_told_and_the_others_are_read(write, kind, bad, texts, told):
    good = GOOD if kind == "chatgpt" else {"uuid": "g", "chat_messages": [said("u", "human", "I grow tomatoes.")]}
    reports: list[str] = []
    limits = LimitsConfig(max_message_bytes=200)
    path = write(json.dumps([good, bad, good | {"conversation_id": "8f3a2b1d", "uuid": "h"}]))
    first, *found, last = read_export(
        kind, path, limits=limits, now=datetime(2026, 1, 1, tzinfo=UTC), report=reports.append
    )
    assert first.message.content.startswith("I grow tom") and last.message.content == first.message.content
    assert [one.message.content for one in found] == texts
    if told is None:
        assert not reports
    else:
        assert any(told in one for one in reports), reports


def test_a_path_without_an_export(tmp_path):
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InvalidInputError, match="no file conversations"):
        read(tmp_path, "claude")
    with pytest.raises(InvalidInputError, match="there is no file"):
        read(tmp_path / "nothing", "claude")
