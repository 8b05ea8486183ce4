"""The messages that a message is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from sqlalchemy import select
from torch import Tensor

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import Scope
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.standing.neighbours import neighbours

NOW = datetime(2026, 4, 1, tzinfo=UTC)


def test_a_later_message_is_compared_when_it_is_read_itself(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory()
    memory.add(["I like tea.", "I like rain.", "I like bread."], user_id="ada", now=NOW, infer=False)
    with memory._components.database.write("ada") as connection:
        chunks = list(connection.execute(select(units.c.seq).order_by(units.c.seq)).scalars())
        first, second, third = connection.execute(select(episodes.c.seq).order_by(episodes.c.seq)).scalars()

        def all_chunks(scope: Scope, vectors: Tensor, k: int) -> Sequence[Sequence[int]]:
            assert scope == Scope("ada") and vectors.shape[0] == 1
            return [chunks[:k]]

        near = neighbours(connection, all_chunks, Scope("ada"), 8)
        assert [list(near(seq)) for seq in (first, second, third)] == [[], [first], [first, second]]
        connection.execute(episodes.update().where(episodes.c.seq == third).values(encoded=True))
        again = neighbours(connection, all_chunks, Scope("ada"), 8)
        assert [list(again(seq)) for seq in (first, second)] == [[third], [first, third]]
        assert list(neighbours(connection, all_chunks, Scope("ada"), 1)(third)) == [first]
