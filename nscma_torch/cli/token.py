"""The commands for a server's tokens: token add, token list, token revoke."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import plain, print_json, say, warn
from nscma_torch.cli.serve import Tokens

if TYPE_CHECKING:
    from nscma_torch.server import tokens as files

token = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Create, list and revoke server tokens, each with its user and rights.",
)
o.app.add_typer(token, name="token")


def _file(tokens: Path | None, store: str) -> files.TokenFile:
    from nscma_torch.server import tokens as files

    return files.TokenFile(tokens or files.beside(store))


@token.command()
def add(
    *,
    user: Annotated[str | None, typer.Option("--user", help="User to whose memory the token gives access.")] = None,
    any_user: Annotated[
        bool,
        typer.Option(
            "--any-user", help="Create an administrator token, with which each request names a user or the whole store."
        ),
    ] = False,
    can: Annotated[str, typer.Option("--can", help="Rights, comma-separated: read, write, erase.")] = "read,write",
    tokens: Tokens = None,
    store: o.Store = o.STORE,
    json: o.Json = False,
) -> None:
    """Create a token and show it once; the file contains only its digest."""
    if (user is None) != any_user:
        raise typer.BadParameter("name a user, or use --any-user", param_hint="--user")
    file = _file(tokens, store)
    made, entry = file.add(user, [right.strip() for right in can.split(",") if right.strip()])
    if json:
        print_json({"token": made, "id": entry.id, "user": entry.user, "can": entry.can, "file": str(file.path)})
        return
    typer.echo(made)
    warn(f"token {entry.id} of {entry.user or 'any user'}, rights {', '.join(entry.can)}; it is not shown again")


@token.command(name="list")
def list_(tokens: Tokens = None, store: o.Store = o.STORE, json: o.Json = False) -> None:
    """List token ids with their users and rights; the tokens themselves are not stored."""
    entries = _file(tokens, store).all()
    if json:
        print_json([{"id": one.id, "user": one.user, "can": one.can, "made_at": one.made_at} for one in entries])
        return
    for one in entries:
        whose = "any user" if one.user is None else plain(one.user)
        say(f"{one.id}  {whose}  {', '.join(one.can)}  [dim]{plain(one.made_at)}[/]")


@token.command()
def revoke(
    id: Annotated[str, typer.Argument(help="Token id, as shown by `nscma token list`.")],
    tokens: Tokens = None,
    store: o.Store = o.STORE,
    json: o.Json = False,
) -> None:
    """Revoke a token; a running server rejects it from the next request."""
    gone = _file(tokens, store).revoke(id)
    if json:
        print_json({"revoked": gone.id, "user": gone.user})
    else:
        say(f"revoked {gone.id} of {plain(gone.user or 'any user')}")
