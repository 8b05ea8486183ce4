"""A store is copied into another, all of it or nothing. Between the dialects: test_postgres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, NotFoundError, StoreFormatError
from nscma_torch.maintenance import copying
from nscma_torch.maintenance.copying import copy
from tests.helpers.telling import fill

Open = Callable[..., Memory]


def databases(*memories: Memory) -> list[Any]:
    return [memory.components.database for memory in memories]


def test_a_copy_is_equal_and_goes_on(open_memory: Open) -> None:
    one, two = open_memory("one.db"), open_memory("two.db")
    fill(one)
    one.flush()
    seen: list[int] = []
    users, rows = copy(*databases(one, two), progress=seen.append)
    assert (users, rows) == (one.stats().users, seen[-1])
    assert two.digest() == one.digest() and two.verify() == []
    for memory in (one, two):
        memory.add("I moved to Oslo.", user_id="ada")
        memory.flush()
    assert two.search("Oslo", user_id="ada")[0].text == "I moved to Oslo."
    assert two.verify() == []


def test_one_user_goes_beside_others_and_only_once(open_memory: Open) -> None:
    one, two = open_memory("one.db"), open_memory("two.db")
    for user in ("ada", "bob"):
        one.add(f"{user} likes tea", user_id=user)
    two.add("carl likes tea", user_id="carl")
    carl = two.digest(user_id="carl")
    assert copy(*databases(one, two), user_id="bob")[0] == 1
    assert two.stats().users == 2 and two.digest(user_id="bob") == one.digest(user_id="bob")
    before = two.digest()
    with pytest.raises(InvalidInputError, match="already contains user 'bob'"):
        copy(*databases(one, two))
    with pytest.raises(NotFoundError, match="nothing to export"):
        copy(*databases(one, two), user_id="nobody")
    assert two.digest() == before and two.digest(user_id="carl") == carl


def test_a_copy_that_came_out_different_is_not_kept(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = open_memory("one.db"), open_memory("two.db")
    one.add(["tea", "coffee"], user_id="ada")
    whole = copying.transfer.export

    def changed(*arguments: Any) -> Any:
        yield from (line.replace('"metadata": "{}"', '"metadata": "{\\"a\\": 1}"') for line in whole(*arguments))

    monkeypatch.setattr(copying.transfer, "export", changed)
    with pytest.raises(StoreFormatError, match=r"'ada' differs in .* after copying"):
        copy(*databases(one, two))
    assert two.stats().users == 0
