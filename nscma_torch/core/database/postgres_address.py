"""Addresses of PostgreSQL stores: postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME."""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from nscma_torch.core.errors import StoreAccessError

_SCHEMA = "nscma"  # of an address that names none
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class PostgresAddress(NamedTuple):
    """Address of a store: a database, and the schema that contains the store's tables."""

    url: URL
    schema: str

    @property
    def name(self) -> str:
        """Return the address without the password, for display."""
        shown = self.url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        return f"{shown}?schema={self.schema}"


def parse(store: str) -> PostgresAddress:
    """Parse an address. Every parameter except `schema` is passed to libpq (`sslmode`, `options`, `connect_timeout`…).

    Raises `StoreAccessError` for a malformed address, or a schema name that would need quoting.
    """
    try:
        url = make_url(re.sub("^postgres:", "postgresql:", store))
    except (ArgumentError, ValueError) as error:
        raise StoreAccessError("not a store address; write postgresql://USER@HOST:PORT/DATABASE") from error
    query = dict(url.query)
    schema = query.pop("schema", _SCHEMA)
    if not isinstance(schema, str) or not _NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise StoreAccessError(
            f"{schema!r} is not a valid schema name; use lower-case letters, digits and _, starting with a letter"
        )
    return PostgresAddress(url.set(drivername="postgresql+psycopg", query=query), schema)
