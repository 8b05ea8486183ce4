"""Figure 1 of the NSCMA paper holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.experiments.facts.update_fidelity import FIGURES, Figure, holds


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure_1_holds(figure: Figure, tmp_path: Path) -> None:
    right, seen = holds(figure, tmp_path)
    assert right, seen
