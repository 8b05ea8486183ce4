"""The profile is kept as a whole, a line with its day and its facts."""

from __future__ import annotations

from datetime import date

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import ProfileLine, Scope
from nscma_torch.curator.store import profiles
from tests.helpers.telling import tell

LINES = [
    ProfileLine(0, "Ann lives in Oslo.", date(2024, 1, 5), ("f1",)),
    ProfileLine(1, "她住在成都。", date(2023, 12, 31), ("f2", "f3")),
]


def test_a_profile_is_replaced_as_a_whole(memory: Memory) -> None:
    tell(memory, "Hello.")
    with memory.components.database.write(ALL_USERS) as connection:
        assert profiles.lines(connection, "ada", None) == []
        profiles.replace(connection, "ada", None, LINES)
        profiles.replace(connection, "ada", "cook", LINES[:1])
        assert profiles.lines(connection, "ada", None) == LINES
        profiles.replace(connection, "ada", None, LINES[::-1])
        assert [line.number for line in profiles.lines(connection, "ada", None)] == [0, 1]
        assert profiles.lines(connection, "ada", None)[0].text == "她住在成都。"
        assert profiles.of_scope(connection, Scope("ada", "cook")) == LINES[:1]
        assert len(profiles.of_scope(connection, Scope("ada"))) == 3
        profiles.replace(connection, "ada", None, [])
        assert profiles.of_scope(connection, Scope("ada")) == LINES[:1]
    assert memory.verify() == []


def test_a_line_without_sources_is_refused(memory: Memory) -> None:
    tell(memory, "Hello.")
    with memory.components.database.write(ALL_USERS) as connection:
        profiles.replace(connection, "ada", None, LINES)
    with (
        pytest.raises(InvalidInputError, match="needs source facts"),
        memory.components.database.write(ALL_USERS) as connection,
    ):
        profiles.replace(connection, "ada", None, [ProfileLine(0, "Ann is kind.", date(2024, 1, 1), ())])
    with memory.components.database.read(ALL_USERS) as connection:
        assert profiles.lines(connection, "ada", None) == LINES
