"""mem0's and MemPalace's stores: small databases of their tables, and the command that takes them in."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import sys
import types
from contextlib import closing
from datetime import UTC, date, datetime

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.compat.exports.importing import import_export, read_export
from nscma_torch.core.errors import EmptyTextError, InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message, Scope

ITEMS = [
    {
        "id": "m2",
        "memory": "Bob plays chess.",
        "hash": "x",
        "metadata": None,
        "created_at": "2026-02-01T00:00:00+00:00",
        "updated_at": None,
        "user_id": "bob",
    },
    {
        "id": "m1",
        "memory": "I love climbing.",
        "hash": "y",
        "metadata": {"category": "hobby"},
        "created_at": "2026-01-01T00:00:00+00:00",
        "updated_at": "2026-01-02T00:00:00+00:00",
        "user_id": "alice",
        "agent_id": "bot",
        "actor_id": "Alice",
        "role": "user",
        "expiration_date": "2931-01-01",
        "score": 0.5,
    },
]
CLIMBING = Message(
    "user",
    "I love climbing.",
    datetime(2026, 1, 1, tzinfo=UTC),
    "Alice",
    metadata={"category": "hobby"},
    idempotency_key="mem0:m1",
)


def payload(item):
    own = {key: value for key, value in item.items() if key not in ("id", "memory", "metadata", "score")}
    return {**(item["metadata"] or {}), **own, "data": item["memory"], "text_lemmatized": "x"}


def database(path, *statements):
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, rows in statements:
            connection.executemany(statement, rows) if "?" in statement else connection.execute(statement)
    return path


def qdrant(folder, points, collection="mem0"):
    """A local collection: its points are pickles of `qdrant_client`'s model, which pydantic writes like this."""
    names = ["qdrant_client", "qdrant_client.http", "qdrant_client.http.models", "qdrant_client.http.models.models"]

    class PointStruct:
        def __init__(self, fields):
            self.fields = fields

        def __getstate__(self):
            return {"__dict__": self.fields, "__pydantic_fields_set__": set(self.fields), "__pydantic_private__": None}

    PointStruct.__module__, PointStruct.__qualname__ = names[-1], "PointStruct"
    module = types.ModuleType(names[-1])
    module.PointStruct = PointStruct
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(sys.modules, name, module)
        made = [(key, PointStruct({"id": key, "vector": {"": [0.1]}, "payload": one})) for key, one in points]
        rows = [(key, pickle.dumps(point)) for key, point in made]
    table = "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"
    return database(
        folder / "collection" / collection / "storage.sqlite", (table, ()), ("INSERT INTO points VALUES (?, ?)", rows)
    )


def history(path, rows):
    columns = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id, role"
    full = [(str(number), *row) for number, row in enumerate(rows)]
    return database(
        path,
        (f"CREATE TABLE history ({columns.replace('id,', 'id TEXT PRIMARY KEY,', 1)})", ()),
        (f"INSERT INTO history ({columns}) VALUES ({', '.join('?' * 10)})", full),
    )


@pytest.mark.parametrize("wrap", [lambda items: items, lambda items: {"results": items}], ids=["list", "results"])
def test_mem0_as_json(tmp_path, wrap):
    path = tmp_path / "all.json"
    path.write_text(json.dumps(wrap(ITEMS)))
    first, second = read_export("mem0", path)
    assert first.message == CLIMBING
    assert first.ids == {"user_id": "alice", "agent_id": "bot"}
    assert first.expires_at.date() == date(2931, 1, 2)
    assert (second.message.content, second.ids, second.expires_at) == ("Bob plays chess.", {"user_id": "bob"}, None)


def test_mem0_in_faiss_and_qdrant_is_the_same(tmp_path):
    (tmp_path / "all.json").write_text(json.dumps(ITEMS))
    (tmp_path / "faiss.json").write_text(
        json.dumps({"docstore": {one["id"]: payload(one) for one in ITEMS}, "index_to_id": {"0": "m2", "1": "m1"}})
    )
    store = qdrant(tmp_path / "q", [(one["id"], payload(one)) for one in ITEMS])
    qdrant(tmp_path / "q", [("e", {"data": "climbing", "linked_memory_ids": ["m1"]})], "mem0_entities")
    whole = list(read_export("mem0", tmp_path / "all.json"))
    for path in (tmp_path / "faiss.json", tmp_path / "q", store):
        assert list(read_export("mem0", path)) == whole


def test_a_pickle_of_anything_else_is_refused(tmp_path):
    class Bad:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    table = "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"
    path = tmp_path / "storage.sqlite"
    database(path, (table, ()), ("INSERT INTO points VALUES (?, ?)", [("a", pickle.dumps(Bad()))]))
    with pytest.raises(MalformedInputError, match="which is not a point"):
        read_export("mem0", path)
    assert not (tmp_path / "made").exists()


def test_mem0s_history_gives_the_last_texts(tmp_path):
    at = "2026-01-0{}T00:00:00+00:00".format
    rows = [
        ("m1", None, "I love hiking.", "ADD", at(1), at(1), 0, "Alice", "user"),
        ("m2", None, "Bob plays chess.", "ADD", at(2), at(2), 0, None, None),
        ("m1", "I love hiking.", "I love climbing.", "UPDATE", at(1), at(3), 0, "Alice", "user"),
        ("m2", "Bob plays chess.", None, "DELETE", at(2), at(4), 1, None, None),
    ]
    path = history(tmp_path / "history.db", rows)
    for source in (path, tmp_path):
        (only,) = read_export("mem0", source)
        assert (only.message.content, only.message.name, only.ids) == ("I love climbing.", "Alice", {})
        assert only.message.timestamp == datetime(2026, 1, 1, tzinfo=UTC)


def chroma(path, drawers, collection="mempalace_drawers"):
    columns = "id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER"
    embeddings, fields = [], []
    for number, (key, text, metadata) in enumerate(drawers):
        embeddings.append((number, "s", key))
        fields.append((number, "chroma:document", text, None))
        for name, value in metadata.items():
            whole = isinstance(value, int)
            fields.append((number, name, None if whole else value, value if whole else None))
    return database(
        path,
        ("CREATE TABLE collections (id TEXT, name TEXT)", ()),
        ("INSERT INTO collections VALUES (?, ?)", [("c", collection)]),
        ("CREATE TABLE segments (id TEXT, type TEXT, scope TEXT, collection TEXT)", ()),
        ("INSERT INTO segments VALUES (?, ?, ?, ?)", [("s", "x", "METADATA", "c"), ("v", "x", "VECTOR", "c")]),
        ("CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT)", ()),
        ("INSERT INTO embeddings VALUES (?, ?, ?)", embeddings),
        (f"CREATE TABLE embedding_metadata ({columns})", ()),
        ("INSERT INTO embedding_metadata (id, key, string_value, int_value) VALUES (?, ?, ?, ?)", fields),
    )


def exact(path, drawers):
    rows = [(1, key, text, json.dumps(metadata)) for key, text, metadata in drawers]
    return database(
        path,
        ("CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT)", ()),
        ("INSERT INTO collections VALUES (?, ?)", [(1, "mempalace_drawers"), (2, "mempalace_closets")]),
        ("CREATE TABLE documents (collection_id INTEGER, id TEXT, document TEXT, metadata_json TEXT)", ()),
        ("INSERT INTO documents VALUES (?, ?, ?, ?)", [*rows, (2, "c", "a closet", "{}")]),
    )


def drawer(number, **more):
    place = {"wing": "alice", "room": "travel", "source_file": "/x/chat.md", "chunk_index": number}
    return place | {"filed_at": "2026-03-01T10:00:00", "normalize_version": 3} | more


DRAWERS = [
    ("d2", "> and then?\nTo Porto.", drawer(1)),
    ("d1", "> where?\nTo Leeds.", drawer(0, authored_at="2026-02-01T00:00:00")),
    ("reg", "[registry] /x/chat.md", {"ingest_mode": "registry", "source_file": "/x/chat.md"}),
    ("d3", "A note", {"wing": "bob", "filed_at": "2026-03-02T10:00:00"}),
]


@pytest.mark.parametrize(("make", "name"), [(chroma, "chroma.sqlite3"), (exact, "sqlite_exact.sqlite3")])
def test_mempalace(tmp_path, make, name):
    path = make(tmp_path / "palace" / name, DRAWERS)
    note, first, second = (one.message for one in read_export("mempalace", path))
    kept = {key: value for key, value in DRAWERS[1][2].items() if key != "normalize_version"}
    assert first == Message(
        "document",
        "> where?\nTo Leeds.",
        datetime(2026, 2, 1, tzinfo=UTC),
        source="/x/chat.md",
        metadata=kept,
        idempotency_key="mempalace:d1",
    )
    assert (second.content, second.timestamp) == ("> and then?\nTo Porto.", datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert (note.content, note.source) == ("A note", "bob/general")
    assert list(read_export("mempalace", tmp_path)) == list(read_export("mempalace", tmp_path / "palace"))


def test_what_is_no_store_of_theirs(tmp_path):
    (tmp_path / "notes.txt").write_text("Not a database, but a text of some length.")
    database(tmp_path / "other.db", ("CREATE TABLE other (id)", ()))
    chroma(tmp_path / "empty" / "chroma.sqlite3", [], "else")
    for kind, name, error, words in (
        ("mem0", "notes.txt", MalformedInputError, "not a database"),
        ("mem0", "other.db", MalformedInputError, "no table history"),
        ("mem0", ".", InvalidInputError, "neither a local Qdrant store"),
        ("mempalace", ".", InvalidInputError, "not a palace"),
        ("mempalace", "other.db", MalformedInputError, "no such table"),
        ("mempalace", "empty", EmptyTextError, "no message"),
    ):
        with pytest.raises(error, match=words):
            read_export(kind, tmp_path / name)


def test_each_memory_stays_with_its_owner(tmp_path, m):
    more = [{"id": "m3", "memory": "Whose?"}, {"id": "m4", "memory": "R", "run_id": "r"}]
    (tmp_path / "all.json").write_text(json.dumps(ITEMS + more))
    exported = read_export("mem0", tmp_path / "all.json")
    events = [one.event for batch in import_export(m.nscma, exported, Scope("me"), infer=False) for one in batch]
    again = [one.event for batch in import_export(m.nscma, exported, Scope("me"), infer=False) for one in batch]
    assert (events, again) == (["ADD"] * 4, ["NOOP"] * 4)
    alice = m.get_all(filters={"user_id": "alice"})["results"]
    assert [(one["memory"], one["agent_id"], one["expiration_date"]) for one in alice] == [
        ("I love climbing.", "bot", "2931-01-01")
    ]
    assert [one["memory"] for one in m.get_all(filters={"user_id": "me"})["results"]] == ["Whose?"]
    assert [one["memory"] for one in m.get_all(filters={"run_id": "r"})["results"]] == ["R"]


def test_the_command(tmp_path):
    (tmp_path / "all.json").write_text(json.dumps(ITEMS))
    (tmp_path / "light.toml").write_text('embedder.model = "hash"\nreading.model = "none"\n')
    where = ["--store", str(tmp_path / "s.db"), "--config", str(tmp_path / "light.toml")]
    command = ["import", str(tmp_path / "all.json"), "--from", "mem0", *where]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0 and "imported 2 messages of mem0" in done.output
    again = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(again.stdout)["known"] == 2
    listed = CliRunner().invoke(app, ["log", "--user", "bob", "--json", *where])
    assert [one["text"] for one in json.loads(listed.stdout)] == ["Bob plays chess."]


def test_a_bad_export_makes_no_store(tmp_path):
    (tmp_path / "all.json").write_text("{}")
    store = tmp_path / "s.db"
    done = CliRunner().invoke(app, ["import", str(tmp_path / "all.json"), "--from", "mem0", "--store", str(store)])
    assert isinstance(done.exception, MalformedInputError) and not store.exists()
    wrong = CliRunner().invoke(app, ["import", str(tmp_path / "all.json"), "--agent", "a", "--store", str(store)])
    assert wrong.exit_code == 2 and not store.exists()
