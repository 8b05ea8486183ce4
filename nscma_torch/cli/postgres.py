"""Commands for stores in PostgreSQL: rights of a role, and the vector index for large users."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import opened, plain, print_json, say
from nscma_torch.core.errors import InvalidInputError


@o.app.command()
def grant(
    role: Annotated[str, typer.Argument(help="Role that is not superuser and lacks BYPASSRLS.", metavar="ROLE")],
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Grant a PostgreSQL role use of a store, limited to one user's rows per transaction; creates the store if new."""
    from nscma_torch.core.database import postgres_schema
    from nscma_torch.core.database.database import NO_USER
    from nscma_torch.core.database.store_path import is_postgres

    if not is_postgres(store):
        raise InvalidInputError("a file has no roles; --store must be postgresql://…")
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
            "--memory", help="PostgreSQL's maintenance_work_mem during the build, such as 2GB.", metavar="SIZE"
        ),
    ] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Build the vector index of a PostgreSQL store for large users, without blocking other use."""
    from nscma_torch.core.database.postgres_database import PostgresDatabase

    with opened(store, config) as opened_store:
        database = opened_store.components.database
        if not isinstance(database, PostgresDatabase):
            raise InvalidInputError("a file needs no vector index; --store must be postgresql://…")
        made = database.index_vectors(memory=memory)
    if json:
        print_json({"made": made, "store": database.name})
    else:
        say(f"{'made the vector index of' if made else 'there is one already in'} {plain(database.name)}")
