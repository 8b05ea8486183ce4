"""The fingerprint of a store's embedder, which prevents vectors from different embedders from being mixed."""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.core.database.database import get_meta, set_meta
from nscma_torch.core.errors import EmbedderMismatchError

KEY = "embedder_fingerprint"


def stored(connection: Connection) -> str | None:
    """Return the fingerprint of the embedder bound to the store; None before its first vector is stored."""
    return get_meta(connection, KEY)


def check(connection: Connection, fingerprint: str) -> None:
    """Raise `EmbedderMismatchError` if the store is bound to another embedder."""
    _refuse_other(connection, stored(connection), fingerprint)


def _refuse_other(connection: Connection, bound: str | None, fingerprint: str) -> None:
    if bound not in (None, fingerprint):
        raise EmbedderMismatchError(
            f"{connection.engine.url.database} holds vectors from {bound}, but the configured embedder is "
            f"{fingerprint}; use that embedder, or run `nscma reembed` to replace the vectors"
        )


def bind(connection: Connection, fingerprint: str) -> None:
    """Bind the store to an embedder, in the transaction that stores its vectors. Raises like `check`."""
    bound = stored(connection)
    _refuse_other(connection, bound, fingerprint)
    if bound is None:
        rebind(connection, fingerprint)


def rebind(connection: Connection, fingerprint: str) -> None:
    """Bind the store to another embedder, in the transaction that replaces all vectors."""
    set_meta(connection, KEY, fingerprint)
