"""Replaces every vector by one of the present embedder, so that a store can change its embedding model."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select

from nscma_torch.errors import EmbedderMismatchError, TextTooLongError
from nscma_torch.protocols import Embedder
from nscma_torch.storage.database import Database, get_meta, set_meta
from nscma_torch.storage.schema import units, users, vectors
from nscma_torch.storage.transfer import FINGERPRINT
from nscma_torch.storage.units import pack_vector

_BATCH = 256


def check_fingerprint(database: Database, embedder: Embedder) -> None:
    """Bind a new store to the embedder, or refuse to mix: raises `EmbedderMismatchError`."""
    with database.read() as connection:
        stored = get_meta(connection, FINGERPRINT)
    if stored is None:
        with database.write() as connection:
            stored = get_meta(connection, FINGERPRINT)
            if stored is None:
                set_meta(connection, FINGERPRINT, embedder.fingerprint)
                return
    if stored != embedder.fingerprint:
        raise EmbedderMismatchError(
            f"{database.path} holds vectors of {stored}, the configured embedder is {embedder.fingerprint}; "
            "use that embedder, or run `nscma reembed` to replace the vectors"
        )


def reembed(database: Database, embedder: Embedder, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed all units anew and bind the store to this embedder; returns their number.

    One transaction: an interruption leaves the old vectors. Raises `TextTooLongError` where a unit does not fit the
    new embedder.
    """
    with database.write() as connection:
        query = select(vectors.c.unit_seq, units.c.text).join(units, units.c.seq == vectors.c.unit_seq)
        rows = connection.execute(query.order_by(vectors.c.unit_seq)).all()
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            texts = [row.text for row in batch]
            longest = max(embedder.count_tokens(texts))
            if longest > embedder.max_tokens:
                raise TextTooLongError(
                    f"a stored chunk has {longest} tokens, {embedder.fingerprint} reads {embedder.max_tokens}; "
                    "export, and add the messages to a new store with that embedder"
                )
            for row, vector in zip(batch, embedder.embed(texts), strict=True):
                values = {"vector": pack_vector(vector)}
                connection.execute(vectors.update().where(vectors.c.unit_seq == row.unit_seq).values(**values))
            if progress is not None:
                progress(start + len(batch), len(rows))
        connection.execute(users.update().values(epoch=users.c.epoch + 1))
        set_meta(connection, FINGERPRINT, embedder.fingerprint)
    return len(rows)
