"""Commands for PostgreSQL stores: a role's rights, and the vector index for users with many vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import opened, plain, print_json, say
from nscma_torch.core.errors import InvalidInputError


@o.app.command()
def grant(
    role: Annotated[str, typer.Argument(help="Role that is neither superuser nor BYPASSRLS.", metavar="ROLE")],
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Let a PostgreSQL role use a store, limited to one user's rows per transaction. Creates the store if it is new."""
    from nscma_torch.core.database import postgres_schema
    from nscma_torch.core.database.database import NO_USER
    from nscma_torch.core.database.store_path import is_postgres

    if not is_postgres(store):
        raise InvalidInputError("a file store has no roles; --store must be a postgresql://… URL")
    with opened(store, config, must_exist=False) as memory:
        database = memory.components.database
        with database.write(NO_USER) as connection:
            postgres_schema.grant(connection, role)
    if json:
        print_json({"role": role, "store": database.name})
    else:
        say(f"{plain(role)} can use {plain(database.name)}")


@o.app.command()
def index(
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="Value for PostgreSQL's maintenance_work_mem during the build, such as 2GB.",
            metavar="SIZE",
        ),
    ] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Build the vector index in a PostgreSQL store for users with many vectors, without blocking other use."""
    from nscma_torch.core.database.postgres_database import PostgresDatabase

    with opened(store, config) as opened_store:
        database = opened_store.components.database
        if not isinstance(database, PostgresDatabase):
            raise InvalidInputError("a file needs no vector index; --store must be postgresql://…")
        made = database.index_vectors(memory=memory)
    if json:
        print_json({"made": made, "store": database.name})
    else:
        say(f"{'built the vector index in' if made else 'a vector index already exists in'} {plain(database.name)}")
