"""A prompt that is too long loses its least important parts first."""

from __future__ import annotations

from typing import Any

from nscma_torch.controller.prompt_budget import fit_desk
from nscma_torch.llm.engines.contract import Turn
from nscma_torch.llm.prompts.acting import Desk


def test_skills_are_the_first_to_leave_a_full_prompt() -> None:
    one: dict[str, Any] = {"text": "x"}
    desk = Desk("today", "said", context=(one, one), done=("d",), notes=("a", "b"), skills=(one,) * 2)

    def size(desk: Desk) -> int:
        return sum(len(part) for part in (desk.context, desk.done, desk.notes, desk.skills))

    def left(limit: int) -> tuple[int, int, tuple[str, ...], int]:
        _, fit = fit_desk(lambda turns: int(turns[0].content), lambda own: (Turn("user", str(size(own))),), desk, limit)
        return len(fit.skills), len(fit.context), fit.notes, len(fit.done)

    assert [left(limit) for limit in range(7, -1, -1)] == [
        (2, 2, ("a", "b"), 1),
        (1, 2, ("a", "b"), 1),
        (0, 2, ("a", "b"), 1),
        (0, 1, ("a", "b"), 1),
        (0, 0, ("a", "b"), 1),
        (0, 0, ("b",), 1),
        (0, 0, (), 1),
        (0, 0, (), 0),
    ]
