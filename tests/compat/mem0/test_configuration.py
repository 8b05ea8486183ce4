"""mem0's configurations, and where they keep the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from nscma_torch.compat.mem0 import AsyncMemory, Memory, MemoryConfig
from nscma_torch.core.errors import ConfigError

LIGHT = {"config": {"embedder": {"model": "hash"}, "reading": {"model": "none"}}}


def test_the_store_is_in_the_folder_of_the_vector_store(tmp_path, caplog):
    config = {
        "vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path / "q"), "collection_name": "notes"}},
        "llm": {"provider": "openai", "config": {"model": "gpt-5-mini"}},
        "graph_store": {"provider": "neo4j"},
        "version": "v1.1",
        "nscma": LIGHT,
    }
    ways = (Memory.from_config, Memory, lambda given: Memory(MemoryConfig(**given)), AsyncMemory.from_config)
    for made in (way(config) for way in ways):
        assert made.config.store == tmp_path / "q" / "notes.nscma.db"
        assert made.nscma.config.embedder.model == "hash"
        made.close()
    assert (tmp_path / "q" / "notes.nscma.db").exists()
    assert "llm, graph_store" in caplog.text


def test_the_store_is_beside_the_history(tmp_path, monkeypatch):
    assert MemoryConfig(history_db_path=str(tmp_path / "h.db")).store == tmp_path / "mem0.nscma.db"
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "home"))
    assert MemoryConfig().store == tmp_path / "home" / "mem0.nscma.db"
    monkeypatch.delenv("MEM0_DIR")
    assert MemoryConfig().store == Path("~/.mem0/mem0.nscma.db").expanduser()
    assert MemoryConfig(nscma={"store": tmp_path / "x.db"}).store == tmp_path / "x.db"


def test_it_is_there_when_opened_again(tmp_path):
    config = {"nscma": {"store": tmp_path / "x.db", **LIGHT}}
    with Memory(config) as memory:
        memory.add("I like tea.", user_id="ana", infer=False)
    with Memory(config) as memory:
        assert [one["memory"] for one in memory.get_all(filters={"user_id": "ana"})["results"]] == ["I like tea."]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"vector_store": "qdrant"}, "vector_store"),
        ({"vector_store": {"provider": 5}}, "vector_store.provider"),
        ({"nscma": {"stor": "x"}}, "nscma.stor"),
        ({"nscma": {"config": {"embeder": {}}}}, "embedder"),
        ({"history_db_path": ":memory:"}, "nscma.store"),
        ("config.json", "MemoryConfig or a dict"),
    ],
)
def test_a_wrong_configuration(config, words):
    with pytest.raises(ConfigError, match=words):
        Memory(config)
