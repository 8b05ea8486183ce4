"""SQL that differs between SQLite and PostgreSQL."""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, ColumnElement, Connection, LargeBinary, Table, cast, func, type_coerce
from sqlalchemy import Integer as AnyInteger
from sqlalchemy import Text as AnyText
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import JSON, TypeEngine, UserDefinedType

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

#: Text that sorts and compares by its bytes (UTF-8) in both, whatever the locale of the PostgreSQL database.
Text: TypeEngine[str] = AnyText().with_variant(AnyText(collation="C"), "postgresql")


class JsonText(AnyText):
    """A text column holding JSON."""

    cache_ok = True


class Time(BigInteger):
    """A column of times in microseconds since the epoch, UTC."""

    cache_ok = True


#: JSON in a column of text; compares like `Text`.
Json: TypeEngine[str] = JsonText().with_variant(JsonText(collation="C"), "postgresql")

#: An integer of 64 bits in both, as every integer of SQLite is.
Integer: TypeEngine[int] = AnyInteger().with_variant(BigInteger(), "postgresql")


class _PgVector(UserDefinedType[bytes]):
    """A pgvector `vector` column of any dimension, represented in Python as little-endian float32 bytes.

    Values are sent as text, which is exact, and received with `vector_send` in the type's binary format: two 16-bit
    integers (dimension, unused), then big-endian float32.
    """

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"

    def bind_processor(self, _dialect: Any) -> Any:
        def sent(value: bytes | None) -> str | None:
            return None if value is None else str(list(struct.unpack(f"<{len(value) // 4}f", value)))

        return sent

    def column_expression(self, column: Any) -> ColumnElement[Any]:
        return type_coerce(func.vector_send(column), self)

    def result_processor(self, _dialect: Any, _coltype: Any) -> Any:
        def received(value: bytes | None) -> bytes | None:
            if value is None:
                return None
            numbers = array("f", bytes(value[4:]))
            numbers.byteswap()
            return numbers.tobytes()

        return received


#: An embedding as d float32, little-endian; in PostgreSQL a pgvector.
Vector: TypeEngine[bytes] = LargeBinary().with_variant(_PgVector(), "postgresql")


def in_postgres(connection: Connection) -> bool:
    """Return True if the connection is to PostgreSQL rather than SQLite."""
    return connection.dialect.name == "postgresql"


def insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Build an INSERT that supports ON CONFLICT."""
    if not in_postgres(connection):
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # it imports asyncio, which a command on a file has no use for

    return postgresql.insert(table)


def true_in(connection: Connection, column: ColumnElement[str], key: str) -> ColumnElement[bool]:
    """Build the condition that the JSON in a text column has the value true for a key."""
    read = cast if in_postgres(connection) else type_coerce  # a cast in SQLite would make it a number
    return func.coalesce(read(column, JSON)[key].as_boolean(), False)


def text_bytes(connection: Connection, column: ColumnElement[str]) -> ColumnElement[int]:
    """Build the expression for the size of a text in UTF-8 bytes."""
    return func.octet_length(column) if in_postgres(connection) else func.length(cast(column, LargeBinary))


def vector_bytes(connection: Connection, column: ColumnElement[bytes]) -> ColumnElement[int]:
    """Build the expression for the size of a vector in bytes."""
    return func.vector_dims(column) * 4 if in_postgres(connection) else func.length(column)
