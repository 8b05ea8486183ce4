"""What falls due, from what a user told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Due
from nscma_torch.standing import effects
from nscma_torch.standing.effects import NewEffect
from nscma_torch.standing.standings import Effect

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)
FORM, CHOIR = "The form has to be in by 9 March.", "Choir every Thursday at seven."


def tell(memory: Memory, *texts: str, role: str = "user") -> list[str]:
    said = [{"role": role, "content": text} for text in texts]
    return [one.id for one in memory.add(said, user_id="ada", timestamp=NOW - timedelta(days=1), now=NOW)]


def bears(memory: Memory, earlier: int, later: int, kind: str) -> None:
    with memory.components.database.write("ada") as connection:
        effects.replace(connection, "ada", [], [NewEffect(Effect(earlier, later, kind), 0.9)])


def test_what_falls_due_is_listed_by_day(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory()
    form, choir = tell(memory, FORM, f"I like tea. {CHOIR}")
    tell(memory, "You have to pay by 6 March.", role="assistant")
    tell(memory, "Is the dentist on Friday?")
    assert memory.due(user_id="ada", now=NOW) == [
        Due(date(2026, 3, 5), CHOIR, choir),
        Due(date(2026, 3, 9), FORM, form),
    ]
    assert memory.due(user_id="ada", days=1, now=NOW) == [Due(date(2026, 3, 5), CHOIR, choir)]
    assert memory.due(user_id="bob", now=NOW) == []


@pytest.mark.parametrize(("kind", "listed"), [("fulfils", 0), ("cancels", 0), ("voids", 1), ("confirms", 1)])
def test_what_is_done_or_cancelled_is_left_out(kind: str, listed: int, open_memory: Callable[..., Memory]) -> None:
    memory = open_memory()
    tell(memory, FORM)
    (later,) = tell(memory, "The form is with them.")
    bears(memory, 1, 2, kind)
    assert len(memory.due(user_id="ada", now=NOW)) == listed
    memory.delete(later, user_id="ada", now=NOW)
    assert len(memory.due(user_id="ada", now=NOW)) == 1


@pytest.mark.parametrize("days", [-1, 367])
def test_days_out_of_range_are_refused(days: int, open_memory: Callable[..., Memory]) -> None:
    with pytest.raises(InvalidInputError, match="days must be from 0 to 366"):
        open_memory().due(user_id="ada", days=days)
