"""Configurations that make no sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import ConfigError, StoreAccessError

Open = Callable[..., Memory]
Contents = Callable[[Path], dict[str, list[Any]]]


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"retreival": {}}, "unknown key 'retreival'.*'retrieval'"),
        ({"embedder": {"modle": "hash"}}, r"unknown key 'embedder\.modle'.*'embedder\.model'"),
        ({"retrieval": {"lane": []}}, r"'retrieval\.lanes'"),
        ({"store": {"max_pages": -1}}, r"store\.max_pages"),
        ({"limits": {"max_batch": "many"}}, r"limits\.max_batch.*'many'"),
        ({"index": {"backend": "pinecone"}}, r"index\.backend.*'pinecone'"),
    ],
)
def test_configuration(config: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=match):
        load_config(config)
    with pytest.raises(ConfigError, match=match):
        Memory(tmp_path / "new.db", config=config)
    assert not (tmp_path / "new.db").exists()


def test_configuration_files(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for text, match in (("store = [", "not TOML"), ("[stroe]\n", "'store'"), ("device = 'tpu'\n", "")):
        path.write_text(text)
        if match:
            with pytest.raises(ConfigError, match=match):
                load_config(path)
        else:
            with pytest.raises(ConfigError, match="tpu"):
                Memory(tmp_path / "new.db", config=path)
            assert not (tmp_path / "new.db").exists()
    path.write_bytes(b"device = '\xff'")
    with pytest.raises(ConfigError):
        load_config(path)
    with pytest.raises(ConfigError, match="missing"):
        load_config(tmp_path / "missing.toml")


def test_a_store_is_a_file_and_a_configuration_a_path_or_sections(tmp_path: Path) -> None:
    with pytest.raises(StoreAccessError, match="not ':memory:'"):
        Memory(":memory:")
    with pytest.raises(ConfigError, match="a path or a mapping of sections, got list"):
        Memory(tmp_path / "store.db", config=[1])  # type: ignore[arg-type]
