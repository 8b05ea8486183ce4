"""eval.experiments.speed.gathering: what it compares is equal, and a difference is not passed over."""

from __future__ import annotations

import pytest
import torch

from eval.experiments.speed import gathering
from nscma_torch.config import Hierarchy
from nscma_torch.hierarchy.cam import Cam

CPU = torch.device("cpu")


def test_first_and_further_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "TURNS", 1)
    cams = [Cam()] * 3
    for come, held in ((6, 6), (2, 8)):
        together, single, cams = gathering.compare(gathering.changes_of(cams, 8, come, CPU), Hierarchy(), CPU)
        assert together > 0 and single > 0
        assert [len(cam.levels[0].nodes) for cam in cams] == [held] * 3


def test_a_difference_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = gathering.assimilate
    monkeypatch.setattr(gathering, "assimilate", lambda changes, settings: real(changes[::-1], settings))
    with pytest.raises(AssertionError, match="differs from the same one alone"):
        gathering.compare(gathering.changes_of([Cam()] * 3, 8, 8, CPU), Hierarchy(), CPU)
