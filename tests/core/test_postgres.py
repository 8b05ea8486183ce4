"""Stores in PostgreSQL: what a role sees, who waits for whom, and that the same input gives the same store."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, create_engine, make_url, select, text
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.capabilities import all_tables
from nscma_torch.core.database.database import ALL_USERS, NO_USER, ONE_BY_ONE
from nscma_torch.core.database.postgres_address import parse
from nscma_torch.core.database.postgres_database import PostgresDatabase
from nscma_torch.core.database.postgres_schema import grant
from nscma_torch.core.database.schema import metadata
from nscma_torch.core.database.store_path import name_of
from nscma_torch.core.errors import (
    EncodingError,
    NotFoundError,
    NscmaError,
    StoreAccessError,
    StoreBusyError,
    StoreFormatError,
    StoreVersionError,
)
from nscma_torch.core.jobs import leases, worker_health
from nscma_torch.episodic.index.unit_schema import vectors
from nscma_torch.episodic.log import streams
from tests.conftest import LIGHT
from tests.helpers.postgres import ROLE, Server

Open = Callable[..., Memory]


@pytest.fixture
def address(postgres_server: Server) -> Iterator[str]:
    name = postgres_server.take()
    yield postgres_server.address(name)
    postgres_server.give_back(name)


@pytest.fixture
def opened(address: str, light_surprise: Any, embedder: Any) -> Iterator[Open]:
    memories: list[Memory] = []

    def open_(**config: Any) -> Memory:
        memories.append(Memory(address, config={**LIGHT, **config}, surprise_model=light_surprise, embedder=embedder))
        return memories[-1]

    yield open_
    for memory in memories:
        memory.close()


def raw(address: str) -> Any:
    """An engine that speaks SQL as the application's role, past the library."""
    where = parse(address)
    return create_engine(where.url, connect_args={"options": f"-c role={ROLE} -c search_path={where.schema},public"})


def fill(memory: Memory) -> None:
    for user in ("ana", "bob"):
        memory.add(["I live in Porto.", "Remember: I am allergic to nuts."], user_id=user)
        memory.add_skill(f"greet {user}", trigger="a greeting", steps=["say hello"], user_id=user)
    memory.flush()
    memory.sleep(user_id="ana")


def test_both_dialects_hold_the_same(opened: Open, open_memory: Open, light_surprise: Any, conversation: Any) -> None:
    here, there = opened(), open_memory("file.db", surprise_model=light_surprise)
    for memory in (here, there):
        list(memory.add_many(conversation(30, long=False), user_id="ana"))
        memory.flush()
    assert here.digest() == there.digest()
    assert [hit.text for hit in here.search("Lisbon", user_id="ana")] == [
        hit.text for hit in there.search("Lisbon", user_id="ana")
    ]
    assert here.verify() == there.verify() == []


def test_a_session_of_the_role_sees_the_rows_of_its_user_alone(opened: Open, address: str) -> None:
    memory = opened()
    fill(memory)
    engine = raw(address)
    owned = [table for table in metadata.tables.values() if "user_id" in table.c]
    held = 0
    for table in owned:
        count = text(f'SELECT count(*), count(*) FILTER (WHERE user_id = :user) FROM "{table.name}"')
        with engine.begin() as connection:
            assert tuple(connection.execute(count, {"user": "ana"}).one()) == (0, 0), table.name
            connection.exec_driver_sql("SET LOCAL nscma.user_id = 'bob'")
            every, own = connection.execute(count, {"user": "bob"}).one()
            assert every == own, table.name
            held += own
        with memory.components.database.read("bob") as connection:
            assert connection.execute(count, {"user": "ana"}).one()[1] == 0, table.name
        with memory.components.database.read(NO_USER) as connection:
            assert connection.execute(count, {"user": "ana"}).one()[0] == 0, table.name
    assert held > 0
    with engine.begin() as connection:  # nor can it write for another, or lift the wall
        connection.exec_driver_sql("SET LOCAL nscma.user_id = 'bob'")
        assert connection.execute(text("UPDATE episodes SET text = '' WHERE user_id = 'ana'")).rowcount == 0
        with pytest.raises(Exception, match="row-level security"):
            connection.execute(text("INSERT INTO users VALUES ('ana2', 1, 1)"))
    with engine.begin() as connection, pytest.raises(Exception, match="must be owner"):
        connection.exec_driver_sql("ALTER TABLE episodes DISABLE ROW LEVEL SECURITY")
    engine.dispose()


def test_every_table_is_behind_the_wall(postgres_server: Server, address: str) -> None:
    """A table without users may be read by all; it is one of these."""
    engine = create_engine(make_url(address).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'nscma'::regnamespace AND {}"
        forced = query.format("relrowsecurity AND relforcerowsecurity")
        walled = set(connection.exec_driver_sql(forced).scalars())
        tables = set(connection.exec_driver_sql(query.format("true")).scalars())
    engine.dispose()
    assert tables == set(all_tables().tables)
    assert tables - walled == {"counters", "workers"}


def test_leases_and_errors_name_no_other_user(opened: Open) -> None:
    memory = opened()
    database = memory.components.database
    memory.add("I live in Porto.", user_id="ana")
    with database.write("ana") as connection:
        leases.ask_for(connection, "ana", "host 1 x", until=2**60)
        worker_health.note_error(connection, "ana", "a reply that quotes ana", 0)
    with database.write(ONE_BY_ONE) as connection:
        worker_health.note_error(connection, None, "a fault that quotes ana", 0)
    for whose in ("ana", "bob", NO_USER, ALL_USERS):
        with database.read(whose) as connection:
            assert leases.asking(connection, now=0) == (["ana"] if whose in ("ana", ALL_USERS) else [])
            quoted = connection.execute(text("SELECT count(*) FROM work_errors")).scalar()
            assert quoted == (whose in ("ana", ALL_USERS))
            quoted = connection.execute(text("SELECT count(*) FROM meta WHERE value LIKE '%quotes ana%'")).scalar()
            assert quoted == (whose is ALL_USERS)


def test_who_looks_for_leases_passes_over_those_that_another_is_taking(opened: Open) -> None:
    """`FOR UPDATE SKIP LOCKED`: nobody waits, and nobody is taken twice; a writer of the user does not matter."""
    memory = opened()
    database = memory.components.database
    for user in ("ana", "bob"):
        memory.add("I live in Porto.", user_id=user)

    def claim(connection: Connection, owner: str) -> list[str]:
        return leases.claim(connection, leases.JOBS, ["ana", "bob"], owner, now=1, until=2)

    with database.write("ana") as writing, database.write(ONE_BY_ONE) as first:
        streams.touch_user(writing, "ana")
        assert claim(first, "host 1 first") == ["ana", "bob"]
        with database.write(ONE_BY_ONE, wait=5) as second:
            assert claim(second, "host 1 second") == []
    with database.write(ALL_USERS), database.write(ONE_BY_ONE, wait=5) as third:
        assert claim(third, "host 1 third") == []


def test_users_do_not_wait_for_each_other(opened: Open) -> None:
    database = opened().components.database
    with database.write("ana"):
        with database.write("bob", wait=5):
            pass
        with database.write(NO_USER, wait=5):
            pass
        for whose in ("ana", ALL_USERS):
            with pytest.raises(StoreBusyError), database.write(whose, wait=0.05):
                pass
    with database.write(ALL_USERS):
        for whose in ("ana", ALL_USERS):
            with pytest.raises(StoreBusyError), database.write(whose, wait=0.05):
                pass


def test_threads_of_one_process_queue_for_longer_than_the_busy_timeout(opened: Open) -> None:
    """And take no connection before their turn: more may wait than there are connections."""
    database = opened(store={"busy_timeout": 0.2}).components.database
    held, wrote = threading.Event(), []

    def write(number: int) -> None:
        with database.write("ana"):
            wrote.append(number)

    def hold() -> None:
        with database.write("ana"):
            held.set()
            time.sleep(1)

    threads = [threading.Thread(target=hold), *(threading.Thread(target=write, args=(i,)) for i in range(40))]
    threads[0].start()
    assert held.wait(10)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(wrote) == list(range(40))


def test_many_writers_of_many_users(opened: Open, open_memory: Open, light_surprise: Any) -> None:
    memory, alone = opened(), open_memory("file.db", surprise_model=light_surprise)
    said = {f"user {n}": [f"note {n} {i}" for i in range(6)] for n in range(6)}
    failed: list[NscmaError] = []

    def write(user: str) -> None:
        try:
            for one in said[user]:
                memory.add(one, user_id=user, timestamp="2026-01-01", now=None)
        except NscmaError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(user,)) for user in said]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for user, texts in said.items():
        for one in texts:
            alone.add(one, user_id=user, timestamp="2026-01-01")
    memory.flush()
    alone.flush()
    assert memory.digest() == alone.digest()


def test_vectors_come_back_to_the_bit(opened: Open) -> None:
    memory = opened()
    memory.add("I live in Porto.", user_id="ana")
    numbers = np.array([0.1, -1 / 3, 1e-30, 3.4e38, 0.0, 2**-20], dtype="<f4").tobytes()
    with memory.components.database.write("ana") as connection:
        embedded = memory.components.embedder.embed(["I live in Porto."])[0].numpy().astype("<f4").tobytes()
        assert connection.execute(select(vectors.c.vector)).scalar_one() == embedded
        connection.execute(vectors.update().values(vector=numbers))
        assert connection.execute(select(vectors.c.vector)).scalar_one() == numbers


def test_what_cannot_be_stored_changes_nothing(opened: Open) -> None:
    memory = opened()
    memory.add("first", user_id="ana")
    before = memory.digest()
    with pytest.raises(EncodingError, match="NUL"):
        memory.add("a\0b", user_id="ana")
    assert memory.digest() == before


def test_addresses() -> None:
    where = parse("postgres://ana:secret@db.example:5433/memories?schema=team&sslmode=require")
    assert where.name == "postgresql://ana:***@db.example:5433/memories?schema=team"
    assert where.url.query == {"sslmode": "require"}
    assert parse("postgresql:///memories").schema == "nscma"
    for bad in ("postgresql://host:port/db", "postgresql:///db?schema=A-b", "postgresql:///db?schema=pg_x"):
        with pytest.raises(StoreAccessError):
            parse(bad)


def test_no_password_is_shown() -> None:
    wrong = "postgresql://ana:secret@127.0.0.1:1/none?connect_timeout=2"
    for command in (["stats"], ["add", "--text", "I moved."], ["erase", "0" * 32], ["doctor"]):
        result = CliRunner().invoke(app, [*command, "--store", wrong], input="n\n")
        assert result.exit_code != 0 and "secret" not in f"{result.output}{result.exception}"
    assert name_of(wrong) == "postgresql://ana:***@127.0.0.1:1/none?schema=nscma" and name_of("a.db") == "a.db"


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StoreAccessError, match="cannot be reached"):
        PostgresDatabase("postgresql://nobody@127.0.0.1:1/none?connect_timeout=2", busy_timeout=1)


def test_schemas_of_others_and_of_later_versions(postgres_server: Server, address: str) -> None:
    base = make_url(address).update_query_dict({"options": ""}).render_as_string(hide_password=False)
    engine = create_engine(make_url(base).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA theirs")
        connection.exec_driver_sql("CREATE TABLE theirs.things (id int)")
        connection.exec_driver_sql("UPDATE nscma.meta SET value = '9999' WHERE key = 'schema_version'")
    with pytest.raises(StoreFormatError, match="another program"):
        PostgresDatabase(f"{base}&schema=theirs", busy_timeout=1)
    with pytest.raises(StoreVersionError, match="9999"):
        PostgresDatabase(base, busy_timeout=1)
    with engine.begin() as connection:
        from nscma_torch.core.database.schema import SCHEMA_VERSION

        connection.exec_driver_sql(f"UPDATE nscma.meta SET value = '{SCHEMA_VERSION}' WHERE key = 'schema_version'")
        connection.exec_driver_sql("DROP SCHEMA theirs CASCADE")
    engine.dispose()


def test_which_roles_the_wall_holds_for(postgres_server: Server, address: str) -> None:
    application = PostgresDatabase(address, busy_timeout=1)
    base = make_url(address).update_query_dict({"options": ""}).render_as_string(hide_password=False)
    superuser = PostgresDatabase(base, busy_timeout=1)
    (exposed,) = superuser.exposures()
    assert application.exposures() == [] and "the role postgres is a superuser" in exposed
    with superuser.write(ALL_USERS) as connection:
        with pytest.raises(NotFoundError):
            grant(connection, "no such role")
        with pytest.raises(StoreAccessError, match="superuser"):
            grant(connection, "postgres")
    application.close()
    superuser.close()


def test_the_command_that_grants(
    postgres_server: Server, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_url(address).update_query_dict({"options": ""})
    shown = base.render_as_string(hide_password=False)
    result = CliRunner().invoke(app, ["grant", ROLE, "--store", f"{shown}&schema=granted", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"role": ROLE, "store": parse(f"{shown}&schema=granted").name}
    monkeypatch.chdir(tmp_path)
    Path("light.toml").write_text('[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\n')
    line = ["--store", f"{address}&schema=granted", "--user", "ana", "--config", "light.toml"]
    for command in (["add", "--text", "I live in Porto."], ["search", "Porto"], ["stats"]):
        result = CliRunner().invoke(app, [*command, *line])
        assert result.exit_code == 0, result.output
    assert "I live in Porto." in CliRunner().invoke(app, ["search", "Porto", *line]).stdout
    for wrong in (["grant", ROLE, "--store", "file.db"], ["grant", "nobody at all", "--store", shown]):
        assert CliRunner().invoke(app, wrong).exit_code != 0
    engine = create_engine(base.set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA granted CASCADE")
    engine.dispose()


@pytest.mark.sqlite_file("one end of the copy is a file")
def test_the_command_that_copies_there_and_back(
    address: str, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    file = open_memory("file.db")
    fill(file)
    for source, target in (("file.db", address), (address, "back.db")):
        result = CliRunner().invoke(app, ["copy", source, target, "--json"])
        assert result.exit_code == 0, result.output
        copied = json.loads(result.stdout)
        assert (copied["from"], copied["users"]) == (name_of(source), 2)
    back = open_memory("back.db")
    assert back.digest() == file.digest() and back.verify() == []
    result = CliRunner().invoke(app, ["copy", "file.db", address])
    assert result.exit_code != 0 and "already contains user" in str(result.exception)
    del result  # and with it what its exception held
    gc.collect()
    assert not caplog.records, "a cursor was open when its database was closed"
    result = CliRunner().invoke(app, ["copy", "nothing.db", address])
    assert result.exit_code == 2 and "no store at nothing.db" in result.output


def test_what_is_erased_is_in_no_row(opened: Open, address: str) -> None:
    memory = opened(facts={"units": ["triple", "atomic_fact"]})
    secret = memory.add("Remember: my violin is a Stradivarius.", user_id="ana")[0].id
    memory.add("My boat is a Bergonzi.", user_id="ana")
    memory.add("Bob's own Stradivarius.", user_id="bob")
    memory.flush()
    others = memory.digest(user_id="bob")
    receipt = memory.erase(user_id="ana", memory_id=secret)
    assert receipt.rows["episodes"] == 1 and receipt.found is None and receipt.checked == ()
    assert "stradivarius" not in everything(address, "ana") and "bergonzi" in everything(address, "ana")
    memory.erase(user_id="ana")
    assert "bergonzi" not in everything(address, None) and memory.digest(user_id="bob") == others
    with pytest.raises(NotFoundError):
        memory.erase(user_id="ana")


def everything(address: str, user: str | None) -> str:
    """Every row of a user's, or of the store, in small letters."""
    engine, said = raw(address), []
    with engine.begin() as connection:
        setting = "SET LOCAL nscma.all_users = 'on'" if user is None else f"SET LOCAL nscma.user_id = '{user}'"
        connection.exec_driver_sql(setting)
        for name in all_tables().tables:
            said += [str(row).lower() for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"')]
    engine.dispose()
    return "\n".join(said)


def test_an_erasure_keeps_out_the_writers_of_its_user_alone(opened: Open) -> None:
    memory, other = opened(), opened(store={"busy_timeout": 0.2})
    for user in ("ana", "bob"):
        memory.add("I live in Porto.", user_id=user)
    found = memory.get_all(user_id="ana")[0].id
    erased: list[Any] = []

    def erase(**what: str) -> None:
        thread = threading.Thread(target=lambda: erased.append(other.erase(user_id="ana", **what)))
        thread.start()
        thread.join()

    with memory.components.database.write("bob"):
        erase(memory_id=found)
        erase()
    assert [receipt.user_id for receipt in erased] == ["ana", "ana"]
    assert memory.get_all(user_id="ana") == [] and len(memory.get_all(user_id="bob")) == 1
    assert memory.verify() == []
