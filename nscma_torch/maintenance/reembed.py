"""Replace every vector with one from the current embedder, to change a store's embedding model."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, select

from nscma_torch.core.database.database import ALL_USERS, NO_USER, Database
from nscma_torch.core.errors import TextTooLongError
from nscma_torch.core.protocols import Embedder
from nscma_torch.curator import statistics
from nscma_torch.episodic.index import fingerprint, unit_changes
from nscma_torch.episodic.index.packed_vectors import pack_vector
from nscma_torch.episodic.index.unit_schema import units, vectors
from nscma_torch.episodic.log import streams
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.ingest.gate_states import gate_state_of, save_gate_state

_BATCH = 256


def check_fingerprint(database: Database, embedder: Embedder) -> None:
    """Raise `EmbedderMismatchError` if the store's vectors come from another embedder. Writes nothing."""
    with database.read(NO_USER) as connection:
        fingerprint.check(connection, embedder.fingerprint)


def reembed(database: Database, embedder: Embedder, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed every unit that has a vector again, and bind the store to this embedder; return the number of units.

    This is one transaction, so an interruption leaves the old vectors. Hierarchies depend on vectors: they are dropped,
    and their episodes are queued to build new ones. The state of the gate's rule `gradient` is dropped too. Raises
    `TextTooLongError` if a unit is too long for the new embedder.
    """
    with database.write(ALL_USERS) as connection:
        for user_id in statistics.users_of(connection):
            for _, agent_id in hierarchies.all_of(connection, user_id):
                hierarchies.rebuild(connection, user_id, agent_id)
        query = select(vectors.c.unit_seq, units.c.text).join(units, units.c.seq == vectors.c.unit_seq)
        rows = connection.execute(query.order_by(vectors.c.unit_seq)).all()
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            texts = [row.text for row in batch]
            longest = max(embedder.count_tokens(texts))
            if longest > embedder.max_tokens:
                raise TextTooLongError(
                    f"a stored chunk has {longest} tokens, but {embedder.fingerprint} accepts {embedder.max_tokens}; "
                    "export, and add the messages to a new store with that embedder"
                )
            for row, vector in zip(batch, embedder.embed(texts), strict=True):
                values = {"vector": pack_vector(vector)}
                connection.execute(vectors.update().where(vectors.c.unit_seq == row.unit_seq).values(**values))
            if progress is not None:
                progress(start + len(batch), len(rows))
        for user_id in statistics.users_of(connection):
            unit_changes.void(connection, user_id)
            streams.touch_user(connection, user_id)
            _forget_gradients(connection, user_id)
        fingerprint.rebind(connection, embedder.fingerprint)
    return len(rows)


def _forget_gradients(connection: Connection, user_id: str) -> None:
    for stream in streams.of_user(connection, user_id):
        state = gate_state_of(stream)
        if state.memory is not None:
            save_gate_state(connection, stream, state.without("gradient"))
