"""Chunks as long as `chunker.max_tokens` where the embedder reads so much; Structural Memory section 4.3: 1,000."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.text.embedders.hash_embedder import HashEmbedder


class Wide(HashEmbedder):
    """Reads 8,192 tokens, as BAAI/bge-m3 does."""

    @property
    def max_tokens(self) -> int:
        return 8192

    def embed(self, texts: Any) -> Any:
        return super().embed([text[:200] for text in texts])


@pytest.mark.parametrize(("wide", "wanted", "longest"), [(True, 1000, 1000), (True, 0, 8192), (False, 1000, 256)])
def test_chunks_are_as_long_as_wanted_and_read(
    wide: bool, wanted: int, longest: int, open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    embedder = Wide() if wide else HashEmbedder()
    config = {"chunker": {"max_tokens": wanted, "strategy": "fixed"}}
    memory = open_memory("long.db", config, surprise_model=light_surprise, embedder=embedder)
    memory.add(" ".join(f"word{i % 89}" for i in range(9000)), user_id="ada")
    with memory.components.database.read(ALL_USERS) as connection:
        texts = list(connection.execute(select(units.c.text).order_by(units.c.start)).scalars())
    *full, last = embedder.count_tokens(texts)
    assert set(full) == {longest} and last <= longest
