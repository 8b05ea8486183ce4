import gc
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.errors import (
    EmptyTextError,
    EncodingError,
    InvalidInputError,
    MalformedInputError,
    TextTooLargeError,
    TimestampError,
)
from nscma_torch.core.records import Message
from nscma_torch.text.files.file_keys import FileKeys, place_of, without_place
from nscma_torch.text.files.file_readers import read_messages
from nscma_torch.text.files.json_messages import check_message, parse_message


def line(content="hi", role="user", **more):
    return json.dumps({"role": role, "content": content, **more}, ensure_ascii=False)


def read(data, format="jsonl", **options):
    raw = data if isinstance(data, bytes) else data.encode()
    return list(read_messages(io.BytesIO(raw), format=format, **options))


@pytest.fixture
def write(tmp_path):
    def write_file(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write_file


def test_json_lines_with_all_fields(write):
    data = (
        line("Hello", timestamp="2023-05-12T10:00:00+02:00", name="Ann", session="s1", mood="good")
        + "\n\n  \n"
        + line("Hi", "assistant", timestamp=1684000000, session=3)
    )
    path = write("chat.jsonl", data)
    first, second = read_messages(path)
    assert first == Message(
        "user",
        "Hello",
        datetime(2023, 5, 12, 8, tzinfo=UTC),
        "Ann",
        "s1",
        metadata={"mood": "good"},
        idempotency_key=FileKeys(place_of(path)).key(first),
    )
    assert second.timestamp == datetime(2023, 5, 13, 17, 46, 40, tzinfo=UTC)
    assert (second.role, second.session) == ("assistant", "3")


def test_a_stream_with_a_name_is_read_like_a_file_of_which_only_the_name_is_known(write):
    def named(name, data="# A\n\nText.\n"):
        return list(read_messages(io.BytesIO(data.encode()), name=name))

    (first,) = named("notes.md")
    (stored,) = read_messages(write("notes.md", "# A\n\nText.\n"))
    assert (first.source, first.name, first.content) == (stored.source, stored.name, stored.content)
    assert without_place(first.idempotency_key) == without_place(stored.idempotency_key)
    assert len({first.idempotency_key, stored.idempotency_key, named("other.md")[0].idempotency_key}) == 3
    assert named("notes.md") == [first]
    assert named("notes", "Only text.")[0].source == "notes"
    with pytest.raises(InvalidInputError, match=r"type '\.exe' are not supported"):
        named("tool.exe")


def test_keys_are_made_of_the_path_and_the_content(write):
    """Equal lines have different ones; a line that is put in anywhere leaves those of the others."""
    data = line("ok") + "\n" + line("ok")
    keys = [message.idempotency_key for message in read_messages(write("a.jsonl", data))]
    assert len(set(keys)) == 2
    more = line("Hi") + "\n" + data + "\n" + line("Bye")
    grown = [message.idempotency_key for message in read_messages(write("a.jsonl", more))]
    assert grown[1:3] == keys and len(set(grown)) == 4
    other = [message.idempotency_key for message in read_messages(write("b.jsonl", data))]
    assert set(other).isdisjoint(keys) and [*map(without_place, other)] == [*map(without_place, keys)]


def test_piped_text_continues_what_begins_like_it():
    first, second = line("ok") + "\n", line("Hi") + "\n"
    keys = [message.idempotency_key for message in read(first + second)]
    assert [message.idempotency_key for message in read(first + second + first)][:2] == keys
    assert read(second)[0].idempotency_key not in keys


def test_own_key_is_kept():
    assert read(line(idempotency_key="mine"))[0].idempotency_key == "mine"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"role": "user", "content": "x"', "not JSON"),
        ("not json", "not JSON"),
        ("[1, 2]", "must be an object"),
        ('{"content": "x"}', 'no "role"'),
        ('{"role": "user"}', 'no "content"'),
        (line(role="robot"), "user, assistant, system, tool"),
        (line(role=None), "role must be one of"),
        (line(role=["user"]), "role must be one of"),
        (line(""), "empty"),
        (line(" \n"), "empty"),
        (line(None), "empty"),
        (line(7), "content must be"),
        (line([7]), "part of content"),
        (line(name=[]), "name must be"),
        (line(metadata=3), "metadata must be"),
        (line(tool_calls=[1], content=None), "tool call"),
        ('{"role": "user", "content": "x", "n": NaN}', "NaN"),
        ('{"role": "user", "content": "x", "n": ' + "1" * 5000 + "}", "not JSON"),
        ("[" * 200_000, "not JSON"),
    ],
)
def test_malformed_lines_are_named(bad, says):
    with pytest.raises(MalformedInputError, match=says) as caught:
        read(line() + "\n\n" + bad + "\n" + line())
    assert caught.value.line == 3
    assert "line 3" in str(caught.value)


@pytest.mark.parametrize("value", ["soon", True, "2023-02-30", 1e30, {}])
def test_bad_timestamps_name_the_line(value):
    with pytest.raises(TimestampError, match=r"^line 2: "):
        read(line() + "\n" + line(timestamp=value))


def test_errors_come_before_the_first_message(write):
    path = write("chat.jsonl", line() + "\n" + "broken")
    with pytest.raises(MalformedInputError, match="line 2"):
        read_messages(path)  # not even iterated


def test_parts_and_tool_calls():
    content = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "x"}}, "there"]
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "cats"}'}}
    seen, called = read(line(content) + "\n" + line(None, "assistant", tool_calls=[call]))
    assert seen.content == "Look:\n[image_url]\nthere"
    assert called.content == 'search({"q": "cats"})'
    assert called.metadata["tool_calls"] == [call]


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"messages": m, "model": "x"}])
def test_json_files(write, wrap):
    path = write(
        "chat.json", json.dumps(wrap([{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]), indent=1)
    )
    messages = list(read_messages(path))
    assert [(m.role, m.content) for m in messages] == [("user", "a"), ("tool", "b")]
    assert len({m.idempotency_key for m in messages}) == 2


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ('{"messages": 3}', "list of messages"),
        ('{"chat": []}', "list of messages"),
        ('"text"', "list of messages"),
        ('[{"role": "user", "content": "a"},\n {"role": "user"}]', "message 2: no"),
    ],
)
def test_bad_json_files(data, says):
    with pytest.raises(MalformedInputError, match=says):
        read(data, "json")


def test_broken_json_file_names_the_line():
    with pytest.raises(MalformedInputError) as caught:
        read('[\n{"role": "user", "content": "a"},\n{"role" "user"}]', "json")
    assert caught.value.line == 3


@pytest.mark.parametrize("format", ["jsonl", "json", "markdown", "text"])
def test_bom_and_crlf_are_accepted(format):
    data = {"jsonl": line("é") + "\r\n", "json": "[" + line("é") + "]\r\n"}.get(format, "é\r\n")
    plain = read(data.replace("\r\n", "\n"), format)
    assert [m.content for m in read(b"\xef\xbb\xbf" + data.encode(), format)] == [m.content for m in plain] == ["é"]


@pytest.mark.parametrize("format", ["jsonl", "json", "markdown", "text"])
def test_invalid_utf8_names_the_offset(format):
    prefix = line("é").encode() + b"\n"
    with pytest.raises(EncodingError, match=f"0xff at offset {len(prefix) + 1} .*iconv"):
        read(prefix + b"a\xff\n", format)


def test_invalid_utf8_after_a_bom():
    with pytest.raises(EncodingError, match="offset 4 "):
        read(b"\xef\xbb\xbfa\xff", "text")


@pytest.mark.parametrize(
    ("data", "says"), [("hällo".encode("utf-16"), "UTF-16LE"), ("hi".encode("utf-16-le"), "NUL byte at offset 1")]
)
def test_other_encodings(data, says):
    with pytest.raises(EncodingError, match=says):
        read(data, "text")


def test_half_a_surrogate_pair():
    with pytest.raises(EncodingError, match="line 1: content"):
        read('{"role": "user", "content": "\\ud800"}')
    with pytest.raises(EncodingError, match="name"):
        read('{"role": "user", "content": "x", "name": "\\udfff"}')


@pytest.mark.parametrize("format", ["jsonl", "json", "markdown", "text", None])
@pytest.mark.parametrize("data", ["", " \n\n ", "\ufeff"])
def test_empty_files(format, data):
    with pytest.raises(EmptyTextError, match="empty"):
        read(data, format)


def test_too_large_messages():
    assert read(line("x" * 1000), max_message_bytes=1000)
    assert read(json.dumps({"role": "user", "content": "é" * 500}), max_message_bytes=1000)
    with pytest.raises(TextTooLargeError, match=r"line 2: 1001 bytes.*max_message_bytes is 1000"):
        read(line() + "\n" + line("x" * 1001), max_message_bytes=1000)
    with pytest.raises(TextTooLargeError, match="message 1"):
        read("[" + line("é" * 501) + "]", "json", max_message_bytes=1000)
    with pytest.raises(TextTooLargeError, match="line 2"):
        read("short\n" + "x" * 2000, "text", max_message_bytes=1000)


def test_huge_line_is_refused_without_reading_it_all():
    class Endless(io.RawIOBase):
        served = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = b"x" * len(buffer)
            Endless.served += len(buffer)
            return len(buffer)

    with pytest.raises(TextTooLargeError, match="more than 5000 bytes"):
        read_messages(io.BufferedReader(Endless()), format="jsonl", max_file_bytes=5000)
    assert Endless.served < 1_000_000


def test_fifty_megabytes(write):
    single = write("one.jsonl", b'{"role": "user", "content": "' + b"x" * 50_000_000 + b'"}')
    with pytest.raises(TextTooLargeError, match="line 1"):
        read_messages(single)
    prose = ("It was a bright cold day, and the clocks struck.\n" * 20 + "\n") * 200
    book = write("book.txt", prose)
    contents = [message.content for message in read_messages(book)]
    assert max(map(len, contents)) <= 4000
    assert "".join("".join(contents).split()) == "".join(prose.split())


MARKDOWN = """\
---
title: Notes
---

Intro text.

# Guide

## Setup #

Install it.

```sh
# not a heading

make demo
```

Usage
-----

- one
---
- two

Top
===
Last words.
"""


def test_markdown_sections(write):
    messages = list(read_messages(write("notes.md", MARKDOWN)))
    assert [message.name for message in messages] == [None, "Guide > Setup", "Guide > Usage", "Top"]
    assert {message.role for message in messages} == {"document"}
    assert {message.source for message in messages} == {"notes.md"}
    assert messages[0].content == "---\ntitle: Notes\n---\n\nIntro text."
    assert "```sh\n# not a heading\n\nmake demo\n```" in messages[1].content
    assert messages[1].metadata == {"line": 9, "headings": ["Guide", "Setup"]}
    assert messages[2].content == "Usage\n-----\n\n- one\n---\n- two"
    assert messages[3].content == "Top\n===\nLast words."


def test_markdown_fence_stays_whole_in_a_large_section():
    fence = "~~~\n" + "code line\n\n" * 600 + "~~~"
    text = "# A\n\n" + "word " * 500 + "\n\n" + fence + "\n\nafter"
    contents = [message.content for message in read(text, "markdown")]
    assert len(contents) > 1
    assert sum(fence in content for content in contents) == 1


def test_markdown_heading_alone_is_kept_where_nothing_deeper_follows():
    assert [m.content for m in read("# A\n\n# B\n\n## C\n\ntext\n\n## D\n", "markdown")] == [
        "# A",
        "## C\n\ntext",
        "## D",
    ]


def test_hash_without_space_is_no_heading():
    assert [m.name for m in read("#tag\n\n####### seven\n", "markdown")] == [None]


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("# -=`~ab\n\t é"), max_size=200))
def test_documents_lose_nothing(text):
    if not text.strip():
        return
    whole = [m.content for m in read(text, "text", max_message_bytes=10_000)]
    assert "".join("".join(whole).split()) == "".join(text.split())


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("ab -=`~\n é"), max_size=200))
def test_markdown_without_hash_headings_keeps_every_character_or_its_heading(text):
    if not text.strip():
        return
    messages = read(text, "markdown", max_message_bytes=10_000)
    kept = "".join(m.content + "".join(m.metadata.get("headings", ())) for m in messages)
    assert set("".join(text.split())) - set("=-") <= set(kept)


@pytest.mark.parametrize(
    ("data", "roles"),
    [
        (line() + "\n" + line(), ["user", "user"]),
        (line(), ["user"]),
        ("\n [ " + line() + "]", ["user"]),
        ('{"messages": [' + line() + "]}", ["user"]),
        ('{\n "messages": [' + line() + "]}", ["user"]),
        ('{\n "id": 1,\n "messages": [' + line() + "]}", ["user"]),
        ("[link](x) and text", ["document"]),
        ("{braces} of prose", ["document"]),
        ("plain words", ["document"]),
    ],
)
def test_sniffing(data, roles):
    assert [message.role for message in read(data, None)] == roles
    assert [message.role for message in read(b"\xef\xbb\xbf" + data.encode(), None)] == roles


def test_sniffing_markdown_and_broken_lines():
    assert [m.name for m in read("intro\n\n# Title\n\ntext", None)] == [None, "Title"]
    for broken in (line()[:-1], line()[:-1] + "\n" + line()):
        with pytest.raises(MalformedInputError, match="line 1"):
            read(broken, None)


def test_format_beats_suffix_and_without_one_it_is_sniffed(write):
    assert next(read_messages(write("a.json", "plain"), format="text")).role == "document"
    assert next(read_messages(write("a", line()))).role == "user"


def test_bad_sources(tmp_path):
    with pytest.raises(InvalidInputError, match="missing"):
        read_messages(tmp_path / "missing.md")
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_messages(tmp_path)
    with pytest.raises(InvalidInputError, match="json, jsonl, markdown, text"):
        read_messages(io.BytesIO(b"x"), format="exe")


def test_no_file_stays_open(write):
    path = write("chat.jsonl", line())
    read_messages(path)
    list(read_messages(path))
    gc.collect()  # an open file would warn here, and warnings are errors


def test_parse_message_takes_values_that_are_no_json():
    said = datetime(2020, 1, 1)
    message = parse_message({"role": "user", "content": "x", "timestamp": said, "metadata": {"a": 1}, "b": 2})
    assert message == Message("user", "x", said.replace(tzinfo=UTC), metadata={"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ({"role": "user", "content": " "}, EmptyTextError, "empty"),
        ({"role": "user", "content": "a", "timestamp": "soon"}, TimestampError, "soon"),
        ({"role": "user", "content": "\ud800"}, EncodingError, "surrogate"),
        (["a"], InvalidInputError, "a message must be"),
    ],
)
def test_errors_of_a_message(value, error, says):
    with pytest.raises(error, match=says):
        check_message(parse_message(value))
