"""Users whose vectors stay in PostgreSQL are found what a search of all vectors on the device finds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch
from sqlalchemy import create_engine, make_url, text
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.database.postgres_database import PostgresDatabase
from nscma_torch.core.errors import NotFoundError, StoreAccessError
from nscma_torch.core.records import Hit, Message, Scope
from nscma_torch.episodic.index import stored_vectors
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.conftest import LIGHT
from tests.helpers.postgres import Server

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
QUESTIONS = ("Who moved to Porto in March?", "What did Robin complain about to me?")
BOUNDS: tuple[dict[str, Any], ...] = (
    {},
    {"agent_id": "coach", "run_id": "r1"},
    {"filters": {"box": "a"}},
    {"as_of": NOW - timedelta(days=170)},
    {"user_id": "bob"},
)
MORE_BOUNDS: tuple[dict[str, Any], ...] = (
    {"agent_id": "coach"},
    {"kinds": ("chunk", "triple", "atomic_fact", "summary")},
    {"expired": True, "strategy": "single-step"},
    {"where": lambda message: message.role == "assistant"},
    *({"strategy": name} for name in ("traversal", "prune-and-grow", "hyde", "graph")),
    {"strategy": "global", "top_k": 3},
    {"user_id": "nobody"},
)


@pytest.fixture
def store(postgres_server: Server) -> Iterator[str]:
    """The name of a database with a store, which may get a vector index."""
    name = postgres_server.take()
    yield name
    with superuser(postgres_server, name) as engine, engine.begin() as connection:
        for dimension in (64, 256):
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS nscma.vectors_hnsw_{dimension}")
    postgres_server.give_back(name)


class superuser:  # noqa: N801 - a context
    """An engine of the superuser on a database."""

    def __init__(self, server: Server, name: str) -> None:
        url = make_url(server.address(name, role=None)).set(drivername="postgresql+psycopg")
        self._engine = create_engine(url)

    def __enter__(self) -> Any:
        return self._engine

    def __exit__(self, *error: object) -> None:
        self._engine.dispose()


@pytest.fixture
def opened(store: str, postgres_server: Server, light_surprise: Any, embedder: Any) -> Iterator[Open]:
    """`opened(database_from, **config)`: the store under the application's role."""
    memories: list[Memory] = []

    def open_(database_from: int, embedder: Any = embedder, **config: Any) -> Memory:
        index = {"database_from": database_from, **config.pop("index", {})}
        parts = {**LIGHT, "gate": {"rule": "everything"}, **config, "index": index}
        memories.append(
            Memory(postgres_server.address(store), config=parts, surprise_model=light_surprise, embedder=embedder)
        )
        return memories[-1]

    yield open_
    for memory in memories:
        memory.close()


def make_index(server: Server, name: str) -> bool:
    database = PostgresDatabase(server.address(name, role=None), busy_timeout=10)
    try:
        return database.index_vectors()
    finally:
        database.close()


def apart(memory: Memory, user: str = "ana") -> bool:
    with memory.components.searcher.indexes.reading(user) as reading:
        return reading.index.apart


def told(hits: list[Hit]) -> list[tuple[Any, ...]]:
    shown = [{name: round(value, 4) for name, value in hit.parts.items()} for hit in hits]
    return [(hit.unit.id, pytest.approx(hit.score, rel=1e-4), own) for hit, own in zip(hits, shown, strict=True)]


def plain(hits: list[Hit]) -> list[tuple[Any, ...]]:
    shown = [{name: round(value, 4) for name, value in hit.parts.items()} for hit in hits]
    return [(hit.unit.id, hit.score, own) for hit, own in zip(hits, shown, strict=True)]


def same(device: Memory, database: Memory, question: str, **asked: Any) -> int:
    asked = {"user_id": "ana", "now": NOW, "top_k": 20, **asked}
    there = device.search(question, explain=True, **asked)
    assert plain(database.search(question, explain=True, **asked)) == told(there), (question, asked)
    return len(there)


def fill(memory: Memory, conversation: Any) -> None:
    """Two users who said much the same, in scopes; of one something is hidden, changed, expired and erased."""
    said = conversation(40, long=False)
    for user in ("ana", "bob"):
        added = list(memory.add_many(said[:20], user_id=user, infer=False, now=NOW))
        added += memory.add(said[20:30], user_id=user, agent_id="coach", now=NOW)
        added += memory.add(said[30:], user_id=user, agent_id="coach", run_id="r1", metadata={"box": "a"}, now=NOW)
    memory.flush()
    memory.add("The parrot is gone.", user_id="ana", expiration_date=NOW - timedelta(days=1), now=NOW)
    memory.delete(added[3].id, user_id="bob")
    ids = [one.id for one in memory.log(user_id="ana", limit=60)]
    memory.delete(ids[5], user_id="ana", now=NOW)
    memory.update(ids[8], "Ana moved to the old library in Porto.", user_id="ana", now=NOW)
    memory.erase(user_id="ana", memory_id=ids[11])


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"retrieval": {"candidates": 5}, "score": {"similarity": "cosine"}},  # each found by an exact scan
        {"score": {"beta": 0.4, "gamma": 0.3}, "retrieval": {"fusion": "sum"}},
        {"index": {"dtype": "bfloat16"}, "retrieval": {"fusion": "rrf", "nodes": "cosine"}},
    ],
    ids=lambda config: "-".join(config) or "default",
)
def test_it_equals_the_search_on_the_device(opened: Open, conversation: Any, config: dict[str, Any]) -> None:
    device, database = opened(0, **config), opened(1, **config)
    fill(device, conversation)
    assert apart(database) and not apart(device)
    if config.get("index"):  # only vectors on the device are rounded: those in the database are exact
        device = opened(0, **{**config, "index": {}})
    found = 0
    for question in QUESTIONS[:1] if config else QUESTIONS:
        for bounds in BOUNDS:
            found += same(device, database, question, **bounds)
    for bounds in () if config else MORE_BOUNDS:
        found += same(device, database, QUESTIONS[0], **bounds)
    assert found > (25 if config else 80)
    asked = {"user_id": "ana", "now": NOW}
    assert database.ask(QUESTIONS[0], **asked).text == device.ask(QUESTIONS[0], **asked).text
    bounds = Bounds(Scope("ana"), NOW)
    some = [10**9, *reversed(device.components.searcher.rank(QUESTIONS[0], bounds, 12).scores)]
    cosines = [own.components.searcher.cosines(some, bounds) for own in (device, database)]
    assert torch.equal(*cosines) and cosines[0].abs().sum() > 3
    queries = torch.stack([device.components.embedder.embed_query(question) for question in QUESTIONS])
    modules = [memory.as_module(user_id="ana", now=NOW) for memory in (device, database)]
    (values, weights, ids), others = modules[0](queries, 5), modules[1](queries, 5)
    assert torch.equal(ids, others.ids) and torch.equal(values, others.values)
    torch.testing.assert_close(weights, others.weights)


def test_recalls_count_in_both(opened: Open) -> None:
    config = {"score": {"beta": 0.5, "recency_since": "recalled"}, "retrieval": {"candidates": 3}}
    device, database = opened(0, **config), opened(1, **config)
    for i in range(12):
        device.add(f"Shelf {i} holds {i} lanterns.", user_id="ana", timestamp=NOW - timedelta(days=200 - i), now=NOW)
    (hit,) = device.search("Shelf 4 holds 4 lanterns", user_id="ana", top_k=1, now=NOW)
    bounds = Bounds(Scope("ana"), NOW)
    ranked = [own.components.searcher.rank("harp", bounds, 12, explain=True) for own in (device, database)]
    assert ranked[0].scores == pytest.approx(ranked[1].scores) and list(ranked[0].scores) == list(ranked[1].scores)
    first = next(iter(ranked[1].scores))
    assert database.components.searcher.load([first], "ana")[first].id == hit.unit.id


def test_every_write_is_seen_at_once(opened: Open) -> None:
    """After each of many random writes of two users, both memories find the same; neither is opened anew."""
    device, database = opened(0), opened(1)
    rng = random.Random(5)
    words = ["lantern", "kettle", "harp", "orchard", "ferry", "violin", "parcel", "glacier", "Ana", "Robin"]
    ids: dict[str, list[str]] = {"ana": [], "bob": []}
    for step in range(30):
        user = rng.choice(("ana", "bob"))
        own, does = ids[user], rng.random()
        line = f"The {' and the '.join(rng.sample(words, 3))} of box {step}."
        if does < 0.6 or len(own) < 3:
            said = Message("user", line, NOW - timedelta(hours=step), name=rng.choice((None, "Ana", "Robin")))
            own += [one.id for one in device.add(said, user_id=user, now=NOW)]
        elif does < 0.75:
            device.update(rng.choice(own), line, user_id=user, now=NOW)
        elif does < 0.9:
            device.delete(own.pop(rng.randrange(len(own))), user_id=user, now=NOW)
        else:
            device.erase(user_id=user, memory_id=own.pop(rng.randrange(len(own))))
        asked = f"Which {rng.choice(words)} did {rng.choice(words)} see in box {rng.randrange(step + 1)}?"
        for one in ("ana", "bob"):
            same(device, database, asked, user_id=one)
    assert apart(database, "ana") and apart(database, "bob")


def test_the_number_of_units_decides(opened: Open) -> None:
    memory, device = opened(6), opened(0)
    ids = []
    for i in range(9):
        ids += [one.id for one in memory.add(f"Shelf {i} holds {i} lanterns.", user_id="ana", now=NOW)]
        assert apart(memory) == apart(opened(6)) == (i >= 5)
        same(device, memory, "shelf of lanterns")
    small, large = (own.components.searcher.indexes.nbytes for own in (memory, device))
    assert small < large - 9 * 4 * 256
    for one in ids[:5]:
        memory.delete(one, user_id="ana", now=NOW)
        same(device, memory, "shelf of lanterns")
    assert not apart(memory)
    scaled = opened(1, score={"scaling": "min-max"})
    assert scaled.search("shelf", user_id="ana", now=NOW) and not apart(scaled)


@pytest.mark.sqlite_file("of a file")
def test_a_file_is_searched_on_the_device(open_memory: Open) -> None:
    memory = open_memory(config={"index": {"database_from": 1}})
    memory.add("The kettle is blue.", user_id="ana")
    assert memory.search("kettle", user_id="ana") and not apart(memory)


class SmallEmbedder(HashEmbedder):
    """Vectors of another dimension."""

    dimension = 64  # type: ignore[assignment]
    fingerprint = "hash-64"  # type: ignore[assignment]

    def embed(self, texts: Any) -> torch.Tensor:
        return torch.nn.functional.normalize(super().embed(texts)[:, :64], dim=1)

    def embed_query(self, text: str) -> torch.Tensor:
        return self.embed([text])[0]


def test_the_vector_index(
    opened: Open, store: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch, embedder: Any
) -> None:
    """Under the application's role, among the vectors of another user, ten of the ten nearest are found."""
    monkeypatch.setattr(stored_vectors, "FEW", 0)
    with pytest.raises(NotFoundError, match="no vectors"):
        make_index(postgres_server, store)
    config: dict[str, Any] = {"score": {"similarity": "cosine"}, "retrieval": {"candidates": 10}}
    device, database = opened(0, **config), opened(1, **config)
    rng = random.Random(1)
    words = [f"{a}{b}" for a in ("lan", "ket", "har", "orc", "fer", "vio", "par", "gla") for b in ("tern", "tle", "po")]
    for user in ("ana", "bob", "cleo"):
        for agent in ("coach", "cook"):
            said = [Message("user", " ".join(rng.sample(words, 6)), NOW) for _ in range(125)]
            list(device.add_many(said, user_id=user, agent_id=agent, infer=False, now=NOW))
    assert make_index(postgres_server, store) and not make_index(postgres_server, store)
    scans: list[int] = []
    scanned = stored_vectors.scanned
    monkeypatch.setattr(stored_vectors, "scanned", lambda *own: scans.append(1) or scanned(*own))

    def recall(agent: str | None) -> float:
        queries = [" ".join(rng.sample(words, 6)) for _ in range(20)]
        vectors = torch.stack([device.components.embedder.embed_query(own) for own in queries])
        modules = [own.as_module(user_id="bob", agent_id=agent, now=NOW) for own in (device, database)]
        found = [own(vectors, 10).ids.tolist() for own in modules]
        return sum(len({*a} & {*b}) for a, b in zip(*found, strict=True)) / 200

    assert recall(None) > 0.95 and recall("cook") > 0.95 and not scans
    asked = {"user_id": "bob", "now": NOW, "top_k": 1}
    (first,) = database.search("lantern kettle harpo orctern", **asked)
    device.update(first.unit.episode_ids[0], "A zebra.", user_id="bob", now=NOW)
    assert [hit.text for hit in database.search("A zebra", **asked)] == ["A zebra."]
    device.erase(user_id="bob", memory_id=first.unit.episode_ids[0])
    assert "zebra" not in database.search("A zebra", **asked)[0].text
    assert recall("cook") > 0.95 and not scans
    few = {"filters": {"box": "a"}, **asked, "top_k": 20}  # fewer under the bounds than the walk may look for
    device.add(Message("user", "lantern kettle"), user_id="bob", metadata={"box": "a"}, now=NOW)
    assert [hit.text for hit in database.search("kettle", **few)] == ["lantern kettle"]
    other = opened(1, SmallEmbedder(), **config)
    other.reembed()
    assert not scans and other.search("lantern kettle", **asked) and scans  # in another dimension by a scan
    assert make_index(postgres_server, store)
    scans.clear()
    assert other.search("lantern kettle", **asked) and not scans
    with superuser(postgres_server, store) as engine, engine.begin() as connection:
        query = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'vectors_hnsw%'"
        assert list(connection.execute(text(query)).scalars()) == ["vectors_hnsw_64"]


def test_pgvector_without_iterative_scans(
    opened: Open, store: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_vectors, "FEW", 0)
    memory = opened(1, retrieval={"candidates": 1})
    memory.add(["The kettle is blue.", "The harp is old.", "The boat is new."], user_id="ana", now=NOW)
    make_index(postgres_server, store)
    version = text("UPDATE pg_extension SET extversion = :version WHERE extname = 'vector' RETURNING extversion")
    with superuser(postgres_server, store) as engine, engine.connect() as connection:
        now = connection.execute(text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).scalar_one()
        connection.execute(version, {"version": "0.7.4"})
        connection.commit()
        try:
            for refused in (
                lambda: memory.search("kettle", user_id="ana"),
                lambda: make_index(postgres_server, store),
            ):
                with pytest.raises(StoreAccessError, match=r"pgvector 0\.7\.4.*database_from"):
                    refused()
        finally:
            connection.execute(version, {"version": now})
            connection.commit()
    assert memory.search("kettle", user_id="ana")


def test_the_command(opened: Open, store: str, postgres_server: Server, tmp_path: Any) -> None:
    opened(1).add("The kettle is blue.", user_id="ana")
    config = tmp_path / "light.toml"
    config.write_text('[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\n')
    owner, role = (postgres_server.address(store, role=own) for own in (None, "nscma_app"))
    line = ["index", "--config", str(config), "--memory", "64MB", "--json", "--store"]
    refused = CliRunner().invoke(app, [*line, role])
    assert isinstance(refused.exception, StoreAccessError)
    for made in (True, False):
        result = CliRunner().invoke(app, [*line, owner])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["made"] is made
    assert CliRunner().invoke(app, [*line, str(tmp_path / "file.db")]).exit_code != 0
