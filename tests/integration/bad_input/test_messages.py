"""Messages, files, times, scopes and ids that make no sense."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import (
    EmptyTextError,
    EncodingError,
    InvalidInputError,
    MalformedInputError,
    NotFoundError,
    NscmaError,
    ScopeError,
    TextTooLargeError,
    TextTooLongError,
    TimestampError,
)
from nscma_torch.core.records import Message
from nscma_torch.text.files.file_readers import read_messages

Open = Callable[..., Memory]
Contents = Callable[[Path], dict[str, list[Any]]]

NOW = datetime(2024, 9, 1, tzinfo=UTC)


def test_text_without_text(filled: Memory, untouched: Any) -> None:
    some, text = filled.log(user_id="ada")[0].id, "\u00a0\u2003"
    for bad in ("", " ", "\n\t ", "\u3000", text):
        with untouched(EmptyTextError):
            filled.add(bad, user_id="ada")
    for message in (Message("user", text), {"role": "user", "content": text}, ["I am fine.", text]):
        with untouched(EmptyTextError):
            filled.add(message, user_id="ada")
    with untouched(EmptyTextError):
        list(filled.add_many([Message("user", "fine"), Message("user", text)], user_id="ada"))
    with untouched(EmptyTextError):
        filled.update(some, text, user_id="ada")
    with untouched(EmptyTextError):
        filled.search(text, user_id="ada")
    with untouched(EmptyTextError):
        filled.ask(text, user_id="ada")


def test_no_messages_at_all(filled: Memory, untouched: Any) -> None:
    with untouched(EmptyTextError, "is empty"):
        filled.add([], user_id="ada")
    assert list(filled.add_many([], user_id="ada")) == []


def test_fifty_megabytes(filled: Memory, untouched: Any) -> None:
    text = "word " * 10_000_000
    with untouched(TextTooLargeError, r"50,000,000 bytes.*max_message_bytes"):
        filled.add(text, user_id="ada")
    with untouched(TextTooLargeError):
        list(filled.add_many([Message("user", "small"), Message("user", text)], user_id="ada"))
    with untouched(TextTooLargeError):
        filled.update(filled.log(user_id="ada")[0].id, text, user_id="ada")


def test_a_question_longer_than_the_embedder_reads(filled: Memory, untouched: Any) -> None:
    """Either it is answered, or it is refused by name; never anything else."""
    question = "where did I move in March? " * 400
    try:
        hits = filled.search(question, user_id="ada", now=NOW)
    except TextTooLongError:
        hits = []
    assert filled.verify() == []
    assert all(hit.text == "I moved to Porto in March." for hit in hits[:1])


@pytest.mark.parametrize(
    ("name", "data", "kind", "match"),
    [
        ("latin1.txt", b"fine\n\nna\xefve", EncodingError, "0xef at offset 8"),
        ("cut.jsonl", b'{"role": "user", "content": "a"}\n{"role": "user", "cont', MalformedInputError, "line 2"),
        ("blank.md", b" \n\n", EmptyTextError, "blank.md"),
    ],
)
def test_files_that_do_not_parse(
    name: str, data: bytes, kind: type[NscmaError], match: str, filled: Memory, untouched: Any, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with untouched(kind, match):
        list(filled.add_many(read_messages(path), user_id="ada"))


def test_times_that_do_not_parse(filled: Memory, untouched: Any) -> None:
    times: list[Any] = ["tomorrow-ish", "2024-13-01", "", "32nd of May", math.nan, math.inf, 1e15, True, [2024]]
    for when in times:
        with untouched(TimestampError):
            filled.add({"role": "user", "content": "I moved.", "timestamp": when}, user_id="ada")
        for name in ("timestamp", "expiration_date"):
            with untouched(TimestampError):
                filled.add("I moved.", user_id="ada", **{name: when})


def test_times_in_the_future(filled: Memory, untouched: Any) -> None:
    future = NOW + timedelta(hours=1)
    for when in (future, future.isoformat(), future.timestamp(), future.replace(tzinfo=None)):
        with untouched(TimestampError, "future"):
            filled.add("I will have moved.", user_id="ada", timestamp=when, now=NOW)
        with untouched(TimestampError, "future"):
            message = {"role": "user", "content": "I will have moved.", "timestamp": when}
            filled.add(["This one is fine.", message], user_id="ada", now=NOW)
    for aware in (future, future.replace(tzinfo=None)):
        with untouched(TimestampError, "future"):
            list(filled.add_many([Message("user", "I will have moved.", aware)], user_id="ada", now=NOW))
    with untouched(TimestampError, "future"):
        filled.add("I will have moved.", user_id="ada", timestamp=datetime.now(UTC) + timedelta(days=1))


def test_a_clock_that_is_a_little_ahead_is_accepted_and_found(filled: Memory) -> None:
    said = filled.add("My kettle is purple.", user_id="ada", timestamp=NOW + timedelta(seconds=200), now=NOW)[0]
    assert filled.search("purple kettle", user_id="ada", now=NOW, top_k=1)[0].id == said.id, "read your writes"


def test_names_that_are_none(filled: Memory, untouched: Any) -> None:
    for name, values in {
        "user_id": ("", "  ", None, 7, "a\nb", "a\0b", "a\x1b[31m", "x" * 257, "\ud83d"),
        "agent_id": ("", 3),
        "run_id": ("\t", "r\x1fs"),
    }.items():
        for value in values:
            with untouched(ScopeError, name):
                filled.add("I moved.", **{"user_id": "ada", name: value})


@pytest.mark.parametrize("bad", [{"user_id": "\ud83d"}, {"agent_id": ""}, {"run_id": "r\x1fs"}])
def test_bad_scopes(bad: dict[str, Any], filled: Memory, untouched: Any) -> None:
    """Every method that takes one refuses it."""
    scope = {"user_id": "ada", **bad}
    with untouched(ScopeError):
        list(filled.add_many([Message("user", "I moved.")], **scope))
    for read in (filled.get_all, filled.log, filled.delete_all):
        with untouched(ScopeError):
            read(**scope)
    with untouched(ScopeError):
        filled.search("moved", **scope)
    with untouched(ScopeError):
        filled.ask("who moved?", **scope)
    with untouched(ScopeError):
        filled.replay(**scope)
    if "user_id" in bad:
        for of_an_id in (filled.get, filled.history, filled.delete):
            with untouched(ScopeError):
                of_an_id("some id", **bad)
        for call in (
            filled.erase,
            filled.stats,
            filled.digest,
            filled.sleep,
            lambda **user: list(filled.export(**user)),
        ):
            with untouched(ScopeError):
                call(**bad)
    else:
        with untouched(ScopeError):
            filled.search("moved", user_id="ada", filters=bad)


def test_unknown_ids(filled: Memory, untouched: Any) -> None:
    for unknown in ("0" * 32, "", "no such id", "%"):
        assert filled.get(unknown, user_id="ada") is None
        for act in (
            lambda i: filled.update(i, "new text", user_id="ada"),
            lambda i: filled.delete(i, user_id="ada"),
            lambda i: filled.restore(i, user_id="ada"),
            lambda i: filled.history(i, user_id="ada"),
            lambda i: filled.erase(user_id="ada", memory_id=i),
        ):
            with untouched(NotFoundError, "no memory with id"):
                act(unknown)
    with untouched(NotFoundError, "nobody"):
        filled.erase(user_id="nobody")


def test_things_that_are_no_message(filled: Memory, untouched: Any) -> None:
    things: list[Any] = [
        7, None, [7], {"role": "user"}, {"content": "x"}, {"role": "wizard", "content": "x"},
        {"role": "user", "content": 7}, Message("wizard", "x"), Message("user", None), Message("user", 7),  # type: ignore[arg-type]
    ]  # fmt: skip
    for bad in things:
        with untouched(InvalidInputError):
            filled.add(bad, user_id="ada")
        if isinstance(bad, Message):
            with untouched(InvalidInputError):
                list(filled.add_many([bad], user_id="ada"))


def test_metadata_that_json_cannot_say(filled: Memory, untouched: Any) -> None:
    values: list[Any] = [{"x": {1, 2}}, {"x": NOW}, {"x": math.nan}, {1: "a", "b": 2}]
    for bad in values:
        with untouched(InvalidInputError, "metadata"):
            filled.add("I moved.", user_id="ada", metadata=bad)


def test_half_a_surrogate_pair(filled: Memory, untouched: Any) -> None:
    half = "\ud83d"
    for message in (
        Message("user", f"hello {half}"), Message("user", "x", name=half), Message("user", "x", session=half),
        Message("user", "x", idempotency_key=half), Message("document", "x", source=half),
    ):  # fmt: skip
        with untouched(EncodingError):
            filled.add(message, user_id="ada")
        with untouched(EncodingError):
            list(filled.add_many([message], user_id="ada"))
    with untouched(EncodingError):
        filled.search(half, user_id="ada")
    with untouched(EncodingError):
        filled.get(half, user_id="ada")
    with untouched(EncodingError):
        filled.update(filled.log(user_id="ada")[0].id, half, user_id="ada")
    for metadata in ({"x": half}, {half: "x"}, {"x": [{"y": half}]}):
        with untouched(EncodingError, "metadata"):
            filled.add("I moved.", user_id="ada", metadata=metadata)
        with untouched(EncodingError, "filters"):
            filled.search("moved", user_id="ada", filters=metadata)
    for read in (filled.ask, filled.find_skills):
        with untouched(EncodingError):
            read(f"Where do I live {half}?", user_id="ada")
    with untouched(EncodingError, "filters"):
        filled.get_all(user_id="ada", filters={half: "x"})
    with untouched(EncodingError, "record"):
        filled.records(user_id="ada", record={"entity": half})
    abouts: list[dict[str, Any]] = [{"subject": half}, {"topic": half}]
    for about in abouts:
        with untouched(EncodingError):
            filled.facts(user_id="ada", **about)


def test_one_message_is_not_many(filled: Memory, untouched: Any) -> None:
    for one in ("hello", Message("user", "hello"), {"role": "user", "content": "hello"}):
        with untouched(InvalidInputError, "use `add` for a single one"):
            list(filled.add_many(one, user_id="ada"))  # type: ignore[arg-type]


def test_a_question_up_to_the_limit_is_asked(filled: Memory) -> None:
    told = filled.add("My boat is called Elvira.", user_id="ada", timestamp=NOW, now=NOW)[0]
    question = "The weather and the trains are a long story. " * 350 + "What is my boat called?"
    assert filled.search(question, user_id="ada", now=NOW, top_k=3)
    filled.ask(question, user_id="ada", now=NOW)
    long = "boat called Elvira " * 400
    assert filled.search(long, user_id="ada", now=NOW, top_k=1)[0].id == told.id


@pytest.mark.parametrize("field", ["name", "session", "source", "metadata"])
def test_what_stands_beside_the_content_is_bounded(field: str, filled: Memory, untouched: Any) -> None:
    most = filled.config.limits.max_message_bytes
    value: Any = {"note": "é" * (most // 2)} if field == "metadata" else "é" * (most // 2 + 1)
    with untouched(TextTooLargeError, rf"the {field} of a message.*max_message_bytes"):
        list(filled.add_many([Message("user", "I moved.", **{field: value})], user_id="ada"))


def test_a_long_idempotency_key_is_refused(filled: Memory, untouched: Any) -> None:
    with untouched(InvalidInputError, "idempotency_key has more than 400 characters"):
        filled.add("I moved.", user_id="ada", idempotency_key="k" * 401)
