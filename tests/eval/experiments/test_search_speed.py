"""eval.experiments.speed.search_speed: every step that it times is a step that a search takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eval.experiments.speed.search_speed import _NOW, _STEPS, measure
from nscma_torch.api.memory import Memory


def test_every_step_of_a_search_is_timed(open_memory: Callable[..., Memory], tmp_path: Path) -> None:
    with open_memory(tmp_path / "speed.db") as memory:
        memory.add("The kettle is in the shed.", user_id="reader", now=_NOW)
        took, steps = measure(memory, ["Where is the kettle?"] * 2, "single-step")
    assert len(took) == 2
    assert set(steps) == _STEPS.keys() - {"answerability"}, "answerability is computed where it is asked for"
