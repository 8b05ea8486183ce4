"""Every table belongs to a capability, and a store works without a capability that is taken off the list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core import capabilities
from nscma_torch.core.database.schema import metadata
from tests.helpers.telling import fill

Open = Callable[..., Memory]


def test_every_table_belongs_to_one_capability() -> None:
    owned = [
        table.name for capability in capabilities.capabilities() for table in (*capability.tables, *capability.local)
    ]
    assert sorted(owned) == sorted(metadata.tables)


def test_tables_come_after_the_tables_that_they_refer_to() -> None:
    known: set[str] = set()
    for capability in capabilities.capabilities():
        for table in (*capability.tables, *capability.local):
            assert {key.column.table.name for key in table.foreign_keys} <= known | {table.name}, table.name
            known.add(table.name)


@contextmanager
def leaving_out(module: str) -> Iterator[None]:
    """Take a capability off the list."""
    listed = capabilities.MODULES
    assert module in listed
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(capabilities, "MODULES", tuple(name for name in listed if name != module))
        capabilities.capabilities.cache_clear()
        try:
            yield
        finally:
            patched.undo()
            capabilities.capabilities.cache_clear()


@pytest.fixture
def without(request: pytest.FixtureRequest) -> Iterator[str]:
    module = f"nscma_torch.{request.param}.capability"
    with leaving_out(module):
        yield module


@pytest.mark.parametrize(
    ("without", "table"),
    [("features.records", "memory_records"), ("features.skills", "skills")],
    indirect=["without"],
)
def test_a_store_works_without_a_capability(without: str, table: str, open_memory: Open) -> None:
    memory, other = open_memory(config={"gate": {"rule": "everything"}}), open_memory("other.db")
    kept = memory.add("My lucky number is seven.", user_id="ada")[0].id
    gone = memory.add("I moved to Lisbon in May.", user_id="ada")[0].id
    memory.flush()
    assert memory.search("lucky number", user_id="ada")[0].text == "My lucky number is seven."
    assert memory.verify() == []
    lines = list(memory.export())
    assert other.import_(lines) == len(lines) - 1 and table not in {json.loads(line).get("table") for line in lines}
    assert other.digest() == memory.digest()
    receipt = memory.erase(user_id="ada", memory_id=gone)
    assert receipt.found in (0, None) and table not in receipt.rows, without
    assert memory.get(kept, user_id="ada") is not None
    memory.erase(user_id="ada")
    assert memory.stats().users == 0 and memory.verify() == []


def test_the_lines_of_a_capability_count(open_memory: Open) -> None:
    memory = open_memory()
    fill(memory)
    whole = memory.digest()
    with leaving_out("nscma_torch.features.skills.capability"):
        assert memory.digest() != whole
    assert memory.digest() == whole
