"""eval.experiments.state.effect_scores counts what the reader tells of labelled pairs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from rich.table import Table

from eval.experiments.state.effect_scores import Pair, pairs, tables
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from train.reader.state_files import read_state

GROUP: dict[str, Any] = {
    "speaker": "Mia",
    "earlier": ["I work at Ferro.", "I take tram 4 there.", "Jo is tall."],
    "later": [{"text": "Quit today.", "effects": {"1": "ends", "2": "voids"}}],
    "rests": [[2, 1]],
}


class EndsAll:
    """Takes every later message for an end of what is said of work, and every tram for resting on it."""

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> torch.Tensor:
        pairs = zip(earlier, (own[-1].text for own in later), strict=True)
        kinds = ["rests" if "tram" in said else "ends" if "work" in text else "none" for text, said in pairs]
        return torch.tensor([[0.8 * (kind == own) + 0.2 * (kind == "none") for kind in CHANGES] for own in kinds])


def read(folder: Path) -> list[Pair]:
    (folder / "groups-01.jsonl").write_text(json.dumps(GROUP))
    (group,) = read_state(folder)
    return pairs(group, cast(Reader, EndsAll()))


def cells(table: Table, first: str) -> list[str]:
    """Return the row of a table that begins with this cell."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return [column[columns[0].index(first)] for column in columns]


def test_every_pair_is_asked_once_with_its_label(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert Counter(pair.label for pair in found) == {"ends": 1, "voids": 1, "none": 1, "rests": 1, "no rest": 4}
    assert [(pair.kind, round(pair.effect, 2)) for pair in found if pair.label == "ends"] == [("ends", 0.8)]


def test_shares_are_of_what_is_found_and_of_what_is_labelled(tmp_path: Path) -> None:
    effects, kinds, rests = tables(read(tmp_path))
    assert cells(effects, "0.5") == ["0.5", "1.000 [0.207, 1.000]", "0.500 [0.095, 0.905]", "1.000 [0.207, 1.000]", "1"]
    assert cells(effects, "0.9")[1:] == ["", "0.000 [0.000, 0.658]", "", "0"]
    assert cells(kinds, "voids") == ["voids", "0.000 [0.000, 0.793]", "1"]
    assert cells(rests, "0.5")[2] == "1.000 [0.207, 1.000]"
