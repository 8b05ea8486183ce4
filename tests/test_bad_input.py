"""Promise 7: bad input gets one clear error, and the store is as it was, to the last row."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.config import load_config
from nscma_torch.errors import (
    ConfigError,
    EmbedderMismatchError,
    EmptyTextError,
    EncodingError,
    InvalidInputError,
    MalformedInputError,
    NotFoundError,
    NscmaError,
    ScopeError,
    StoreAccessError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreVersionError,
    TextTooLargeError,
    TextTooLongError,
    TimestampError,
    VectorError,
)
from nscma_torch.memory import Memory
from nscma_torch.records import Message
from nscma_torch.storage import schema
from nscma_torch.text.hash_embedder import HashEmbedder
from nscma_torch.text.readers import read_messages

Open = Callable[..., Memory]
Contents = Callable[[Path], dict[str, list[Any]]]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.add(["I moved to Porto in March.", "ok"], user_id="ada", now=NOW)
    return memory


@pytest.fixture
def untouched(filled: Memory, contents: Contents, tmp_path: Path) -> Any:
    """`with untouched(Error, match=…)`: the block raises this error and leaves every row of the store as it was."""

    @contextmanager
    def check(kind: type[NscmaError], match: str | None = None) -> Iterator[None]:
        before, digest = contents(tmp_path / "store.db"), filled.digest()
        with pytest.raises(kind, match=match) as caught:
            yield
        assert type(caught.value) is kind
        assert filled.digest() == digest
        assert contents(tmp_path / "store.db") == before
        assert filled.verify() == []

    return check


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000", "\u00a0\u2003"])
def test_text_without_text(text: str, filled: Memory, untouched: Any) -> None:
    some = filled.log(user_id="ada")[0].id
    for bad in (text, Message("user", text), {"role": "user", "content": text}, ["I am fine.", text]):
        with untouched(EmptyTextError):
            filled.add(bad, user_id="ada")
    with untouched(EmptyTextError):
        list(filled.add_many([Message("user", "fine"), Message("user", text)], user_id="ada"))
    with untouched(EmptyTextError):
        filled.update(some, text, user_id="ada")
    with untouched(EmptyTextError):
        filled.search(text, user_id="ada")
    with untouched(EmptyTextError):
        filled.ask(text, user_id="ada")


def test_no_messages_at_all(filled: Memory, untouched: Any) -> None:
    with untouched(EmptyTextError, "nothing to add"):
        filled.add([], user_id="ada")
    assert list(filled.add_many([], user_id="ada")) == []


def test_fifty_megabytes(filled: Memory, untouched: Any, tmp_path: Path) -> None:
    text = "word " * 10_000_000
    with untouched(TextTooLargeError, r"50,000,000 bytes.*max_message_bytes"):
        filled.add(text, user_id="ada")
    with untouched(TextTooLargeError):
        list(filled.add_many([Message("user", "small"), Message("user", text)], user_id="ada"))
    with untouched(TextTooLargeError):
        filled.update(filled.log(user_id="ada")[0].id, text, user_id="ada")
    path = tmp_path / "large.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "a first line"}) + "\n"
                    + json.dumps({"role": "user", "content": text}) + "\n")  # fmt: skip
    with untouched(TextTooLargeError, "line 2"):
        list(filled.add_many(read_messages(path), user_id="ada"))


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
        ("latin1.jsonl", '{"role": "user", "content": "caf\u00e9"}'.encode("latin-1"), EncodingError, "line 1.*offset"),
        ("latin1.txt", b"fine\n\nna\xefve", EncodingError, "0xef at offset 8"),
        ("utf16.txt", "text".encode("utf-16"), EncodingError, "UTF-16"),
        ("cut.jsonl", b'{"role": "user", "content": "a"}\n{"role": "user", "cont', MalformedInputError, "line 2"),
        ("plain.jsonl", b'{"role": "user", "content": "a"}\n\nhello\n', MalformedInputError, "line 3"),
        ("list.jsonl", b'{"role": "user", "content": "a"}\n[1]\n', MalformedInputError, "line 2.*object"),
        ("role.jsonl", b'{"role": "wizard", "content": "a"}\n', MalformedInputError, "line 1.*role"),
        ("nan.jsonl", b'{"role": "user", "content": "a", "x": NaN}\n', MalformedInputError, "line 1"),
        ("half.jsonl", b'{"role": "user", "content": "\\ud83d"}\n', EncodingError, "line 1.*surrogate"),
        ("time.jsonl", b'{"role": "user", "content": "a", "timestamp": "soon"}\n', TimestampError, "line 1.*'soon'"),
        ("broken.json", b'[{"role": "user", "content": "a"},', MalformedInputError, "line 1"),
        ("no.json", b'{"turns": []}', MalformedInputError, "messages"),
        ("empty.txt", b"", EmptyTextError, "empty.txt"),
        ("blank.md", b" \n\n", EmptyTextError, "blank.md"),
    ],
)  # fmt: skip
def test_files_that_do_not_parse(
    name: str, data: bytes, kind: type[NscmaError], match: str, filled: Memory, untouched: Any, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with untouched(kind, match):
        list(filled.add_many(read_messages(path), user_id="ada"))


def test_files_that_are_not_there(filled: Memory, untouched: Any, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with untouched(InvalidInputError, "cannot read"):
            list(filled.add_many(read_messages(path), user_id="ada"))


@pytest.mark.parametrize(
    "when", ["tomorrow-ish", "2024-13-01", "", "32nd of May", math.nan, math.inf, 1e15, True, [2024]]
)
def test_times_that_do_not_parse(when: Any, filled: Memory, untouched: Any) -> None:
    with untouched(TimestampError):
        filled.add("I moved.", user_id="ada", timestamp=when)
    with untouched(TimestampError):
        filled.add({"role": "user", "content": "I moved.", "timestamp": when}, user_id="ada")
    with untouched(TimestampError):
        filled.add("I moved.", user_id="ada", expiration_date=when)


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


@pytest.mark.parametrize(
    "bad",
    [
        {"user_id": ""}, {"user_id": "  "}, {"user_id": None}, {"user_id": 7}, {"user_id": "a\nb"}, {"user_id": "a\0b"},
        {"user_id": "x" * 257}, {"user_id": "\ud83d"}, {"agent_id": ""}, {"agent_id": 3}, {"run_id": "\t"},
        {"run_id": "r\x1fs"},
    ],
)  # fmt: skip
def test_bad_scopes(bad: dict[str, Any], filled: Memory, untouched: Any) -> None:
    scope = {"user_id": "ada", **bad}
    with untouched(ScopeError, next(iter(bad))):
        filled.add("I moved.", **scope)
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
        user = bad["user_id"]
        with untouched(ScopeError):
            filled.get("some id", user_id=user)
        with untouched(ScopeError):
            filled.erase(user_id=user)
        with untouched(ScopeError):
            filled.history("some id", user_id=user)
        with untouched(ScopeError):
            filled.delete("some id", user_id=user)
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


@pytest.mark.parametrize(
    "bad",
    [
        7, None, [7], {"role": "user"}, {"content": "x"}, {"role": "wizard", "content": "x"},
        {"role": "user", "content": 7}, Message("wizard", "x"), Message("user", None), Message("user", 7),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_things_that_are_no_message(bad: Any, filled: Memory, untouched: Any) -> None:
    with untouched(InvalidInputError):
        filled.add(bad, user_id="ada")
    if isinstance(bad, Message):
        with untouched(InvalidInputError):
            list(filled.add_many([bad], user_id="ada"))


@pytest.mark.parametrize("bad", [{"x": {1, 2}}, {"x": NOW}, {"x": math.nan}, {"x": "\ud83d"}, {1: "a", "b": 2}])
def test_metadata_that_json_cannot_say(bad: dict[Any, Any], filled: Memory, untouched: Any) -> None:
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


class Broken(HashEmbedder):
    """Returns one vector that is not finite."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def embed(self, texts: Any) -> torch.Tensor:
        vectors = super().embed(texts)
        if len(vectors):
            vectors[-1, 3] = self.value
        return vectors


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_vectors_that_are_not_finite(value: float, filled: Memory, untouched: Any, open_memory: Open) -> None:
    broken = open_memory(embedder=Broken(value))
    with untouched(VectorError, "nothing was stored"):
        broken.add(["Fine.", "Not so fine."], user_id="ada")
    with untouched(VectorError):
        broken.update(filled.log(user_id="ada")[0].id, "Not so fine.", user_id="ada")
    with untouched(VectorError):
        broken.reembed()
    fresh = open_memory("fresh.db", embedder=Broken(value))
    with pytest.raises(VectorError):
        fresh.add("Not so fine.", user_id="ada")
    assert fresh.stats().messages == 0
    assert fresh.stats().embedder is None, "a store without vectors is bound to no embedder"


class Other(HashEmbedder):
    """An embedder with another fingerprint and another dimension."""

    @property
    def fingerprint(self) -> str:
        return "other v1"

    @property
    def dimension(self) -> int:
        return 64

    def embed(self, texts: Any) -> torch.Tensor:
        return torch.nn.functional.normalize(super().embed(texts)[:, :64], dim=-1)


def test_another_embedder_is_refused_until_reembed(filled: Memory, untouched: Any, open_memory: Open) -> None:
    other = open_memory(embedder=Other())
    for act in (
        lambda: other.add("I moved again.", user_id="ada"),
        lambda: other.search("moved", user_id="ada"),
        lambda: other.ask("who moved?", user_id="ada"),
    ):
        with untouched(EmbedderMismatchError, r"hash-256 v1.*other v1.*nscma reembed"):
            act()
    digest = filled.digest()
    seen: list[tuple[int, int]] = []
    assert other.reembed(progress=lambda done, total: seen.append((done, total))) == 2
    assert seen[-1] == (2, 2)
    assert other.digest() == digest, "what is remembered did not change"
    assert other.stats().embedder == "other v1"
    assert other.search("Porto", user_id="ada")[0].text == "I moved to Porto in March."
    other.add("And then to Kyoto.", user_id="ada")
    other.flush()
    # whoever still has the old embedder in hand is refused too, and mixes nothing in
    for act in (
        lambda: filled.add("I moved again.", user_id="ada"),
        lambda: filled.search("moved", user_id="ada"),
        lambda: filled.update(filled.log(user_id="ada")[0].id, "I moved to Faro.", user_id="ada"),
    ):
        with pytest.raises(EmbedderMismatchError, match=r"other v1.*hash-256 v1"):
            act()
    assert other.verify() == []
    assert other.search("Kyoto", user_id="ada")[0].text == "And then to Kyoto."


def test_looking_into_an_empty_store_binds_it_to_no_embedder(open_memory: Open) -> None:
    assert open_memory().search("anything", user_id="ada") == []
    other = open_memory(embedder=Other())
    other.add("I moved.", user_id="ada")
    assert other.stats().embedder == "other v1"


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"retreival": {}}, "unknown key 'retreival'.*'retrieval'"),
        ({"embedder": {"modle": "hash"}}, r"unknown key 'embedder\.modle'.*'embedder\.model'"),
        ({"retrieval": {"lane": []}}, r"'retrieval\.lanes'"),
        ({"store": {"max_pages": -1}}, r"store\.max_pages"),
        ({"limits": {"max_batch": "many"}}, r"limits\.max_batch.*'many'"),
        ({"index": {"backend": "pinecone"}}, r"index\.backend.*'pinecone'"),
    ],
)
def test_configuration(config: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=match):
        load_config(config)
    with pytest.raises(ConfigError, match=match):
        Memory(tmp_path / "new.db", config=config)
    assert not (tmp_path / "new.db").exists()


def test_configuration_files(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for text, match in (("store = [", "not TOML"), ("[stroe]\n", "'store'"), ("device = 'tpu'\n", "")):
        path.write_text(text)
        if match:
            with pytest.raises(ConfigError, match=match):
                load_config(path)
        else:
            with pytest.raises(ConfigError, match="tpu"):
                Memory(tmp_path / "new.db", config=path)
            assert not (tmp_path / "new.db").exists()
    path.write_bytes(b"device = '\xff'")
    with pytest.raises(ConfigError):
        load_config(path)
    with pytest.raises(ConfigError, match="missing"):
        load_config(tmp_path / "missing.toml")


def unchanged(path: Path, kind: type[StoreError], match: str, open_memory: Open) -> None:
    """Opening raises, and neither the file nor its folder is touched."""
    before = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()}
    with pytest.raises(kind, match=match) as caught:
        open_memory(path)
    assert type(caught.value) is kind
    assert {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()} == before


@pytest.mark.parametrize("journal", ["delete", "wal", "wal, open"])
def test_a_sqlite_file_of_another_program(journal: str, open_memory: Open, tmp_path: Path) -> None:
    path = tmp_path / "browser.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(f"PRAGMA journal_mode={journal.split(',')[0]}")
        theirs.execute("CREATE TABLE episodes (id, text)")
        theirs.execute("INSERT INTO episodes VALUES (1, 'mine')")
        theirs.commit()
        if "open" in journal:
            unchanged(path, StoreFormatError, "another program", open_memory)
    unchanged(path, StoreFormatError, "another program", open_memory)


def test_a_sqlite_file_with_another_application_id(open_memory: Open, tmp_path: Path) -> None:
    path = tmp_path / "geo.gpkg"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(f"PRAGMA application_id={0x47504B47}")
        theirs.execute("PRAGMA user_version=2")
    unchanged(path, StoreFormatError, "another program", open_memory)


@pytest.mark.parametrize(
    "data", [b"x", b"Dear diary, today I moved.\n" * 99, b"\0" * 5000, b"SQLite format 3\0" + b"?" * 90]
)
def test_a_file_that_is_no_database(data: bytes, open_memory: Open, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    unchanged(path, StoreFormatError, "notes.txt", open_memory)


def test_a_folder_and_a_missing_folder(open_memory: Open, tmp_path: Path) -> None:
    unchanged(tmp_path, StoreAccessError, "is a folder", open_memory)
    with pytest.raises(StoreAccessError, match="does not exist"):
        open_memory(tmp_path / "nowhere" / "store.db")
    assert list(tmp_path.iterdir()) == []


def test_a_store_of_a_newer_version(filled: Memory, open_memory: Open, tmp_path: Path) -> None:
    filled.close()
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION + 1}")
    unchanged(path, StoreVersionError, "upgrade nscma-torch", open_memory)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_store(seed: int, open_memory: Open, tmp_path: Path, conversation: Any) -> None:
    """Whatever is read of it, a clear error or a finding of `verify`; never an error of SQLite's, never silence."""
    memory = open_memory()
    list(memory.add_many(conversation(20, long=False), user_id="ada"))
    memory.close()
    path = tmp_path / "store.db"
    rng, data = random.Random(seed), bytearray(path.read_bytes())
    if seed == 0:
        data = data[: len(data) // 2]
    else:
        for _ in range(4):
            page = rng.randrange(1, len(data) // 4096)
            data[page * 4096 : (page + 1) * 4096] = rng.randbytes(4096)
    path.write_bytes(data)
    found: list[str] = []
    try:
        damaged = open_memory()
        found = damaged.verify()
        damaged.search("Porto", user_id="ada")
        damaged.log(user_id="ada")
    except StoreFormatError as error:
        found.append(str(error))
        assert "store.db" in str(error)
    assert found


@pytest.mark.parametrize("name", ["what?.db", "a b.db", "100%25.db", "#1.db", "日本.db", "file:x.db", "semi;colon.db"])
def test_any_file_name_will_do(name: str, open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory(name)
    memory.add("I moved.", user_id="ada")
    memory.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert len(open_memory(name).log(user_id="ada")) == 1


def test_a_full_disk(open_memory: Open, tmp_path: Path, contents: Contents) -> None:
    memory = open_memory(config={"store": {"max_pages": 140}})
    kept = []
    with pytest.raises(StoreFullError, match=r"store\.max_pages.*Nothing was written"):
        for i in range(10_000):
            before, digest = contents(tmp_path / "store.db"), memory.digest()
            kept.append(memory.add(f"Parcel {i} went to the address marker{i}lane.", user_id="ada")[0].id)
    assert len(kept) > 5
    assert contents(tmp_path / "store.db") == before
    assert memory.digest() == digest
    assert memory.verify() == []
    # what is there can be read, searched and exported
    assert [episode.id for episode in memory.log(user_id="ada")] == kept
    assert memory.search("marker3lane", user_id="ada", top_k=1)[0].id == kept[3]
    assert len(list(memory.export())) > len(kept)
    memory.close()
    larger = open_memory()
    larger.add("Now there is room again.", user_id="ada")
    assert len(larger.log(user_id="ada")) == len(kept) + 1
    assert larger.verify() == []


def test_a_disk_that_fills_up_during_erasure(open_memory: Open, conversation: Any) -> None:
    memory = open_memory()
    list(memory.add_many(conversation(20, long=False), user_id="ada"))
    target = memory.log(user_id="ada")[3].id
    pages = memory.stats().file_bytes // 4096
    memory.parts.database.close()
    tight = open_memory(config={"store": {"max_pages": pages}})
    assert tight.erase(user_id="ada", memory_id=target).found == 0
    assert tight.verify() == []


def test_a_folder_that_cannot_be_written(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    """As a user without rights: on a folder of root's, on its store, and on a store that may only be read."""
    folder = tmp_path / "locked"
    folder.mkdir()
    memory = open_memory("locked/store.db")
    memory.add("I moved to Porto in March.", user_id="u")
    memory.close()
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == 0 and place.stat().st_mode & stat.S_IWOTH == 0 and place != Path("/"):
            place.chmod(place.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    folder.chmod(0o755)
    (folder / "store.db").chmod(0o644)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    log = tmp_path / "said-probe"
    if processes.wait(processes.start("unprivileged", log, store=str(tmp_path / "open" / "new.db"))):
        pytest.skip("this machine does not let the test become an unprivileged user: " + log.read_text()[-200:])
    assert [line.split()[1] for line in log.read_text().splitlines()] == ["ok", "ok", "ok"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("new.db", "store.db"):
        said = processes.run("unprivileged", tmp_path / f"said-{name}", store=str(folder / name))
        assert [line.split()[1] for line in said[:2]] == ["StoreAccessError"] * 2, said
        assert all(line.split()[1] in ("ok", "StoreAccessError") for line in said), said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda rows: ["", *rows], "line 1.*header"),
        (lambda rows: [rows[0].replace("nscma-export", "other"), *rows[1:]], "line 1.*header"),
        (lambda rows: [rows[0].replace('"schema": ', '"schema": 9'), *rows[1:]], "line 1.*schema 9"),
        (lambda rows: [*rows[:4], rows[4][:-9], *rows[5:]], "line 5.*not JSON"),
        (lambda rows: [*rows[:4], "[]", *rows[4:]], "line 5.*not a row"),
        (lambda rows: [*rows[:4], '{"table": ["x"]}', *rows[4:]], "line 5.*not a row"),
        (lambda rows: [*rows[:4], '{"table": "episodes"}', *rows[4:]], "line 5.*not a row"),
        (lambda rows: [row for row in rows if '"table": "episodes"' not in row], "line .*episodes, which is not there"),
        (
            lambda rows: [row.replace('"status": "active"', '"status": 7') for row in rows],
            "episodes.status holds a int",
        ),
        (lambda rows: [row.replace('"importance": ', '"importance": NaN, "x": ') for row in rows], "not a row|NaN"),
        (lambda rows: [*rows, rows[-1]], "contradicts"),
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
    with untouched(InvalidInputError, "already holds user 'ada'"):
        filled.import_(lines)


def test_an_export_with_vectors_of_another_embedder(filled: Memory, untouched: Any, open_memory: Open) -> None:
    other = open_memory("other.db", embedder=Other())
    other.add("I moved.", user_id="bob")
    with untouched(EmbedderMismatchError, "nscma reembed"):
        filled.import_(list(other.export()))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": None}, "the query must be a string, got NoneType"),
        ({"query": " "}, "the query is empty"),
        ({"threshold": "0.3"}, "threshold is '0.3', it must be a finite number"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"kinds": "chunk"}, "kinds is 'chunk', it must be a list"),
        ({"kinds": ()}, r"kinds is \(\), it must be a list"),
        ({"kinds": ["chunks"]}, "unknown kind 'chunks'"),
    ],
)
def test_searches_that_mean_nothing(arguments: dict[str, Any], said: str, filled: Memory) -> None:
    with pytest.raises(InvalidInputError, match=said):
        filled.search(**{"query": "lantern", "user_id": "ada", **arguments})


def test_one_message_is_not_many(filled: Memory, untouched: Any) -> None:
    for one in ("hello", Message("user", "hello"), {"role": "user", "content": "hello"}):
        with untouched(InvalidInputError, "hand a single one to `add`"):
            list(filled.add_many(one, user_id="ada"))  # type: ignore[arg-type]


def test_a_store_is_a_file_and_a_configuration_a_path_or_sections(tmp_path: Path) -> None:
    with pytest.raises(StoreAccessError, match="':memory:' is none"):
        Memory(":memory:")
    with pytest.raises(ConfigError, match="a path or a mapping of sections, got list"):
        Memory(tmp_path / "store.db", config=[1])  # type: ignore[arg-type]


def test_a_question_of_any_length_is_asked(filled: Memory) -> None:
    told = filled.add("My boat is called Elvira.", user_id="ada", timestamp=NOW, now=NOW)[0]
    question = "The weather and the trains are a long story. " * 400 + "What is my boat called?"
    assert filled.search(question, user_id="ada", now=NOW, top_k=3)
    filled.ask(question, user_id="ada", now=NOW)
    long = "boat called Elvira " * 400
    assert filled.search(long, user_id="ada", now=NOW, top_k=1)[0].id == told.id
