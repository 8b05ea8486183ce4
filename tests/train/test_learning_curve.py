"""train/reader/learning_curve.py: batches count on through the stages, and what was done twice counts once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from train.reader import learning_curve
from train.reader.learning_curve import read_log

LINES = (
    {"stage": "public", "batch": 50, "of": 90, "tokens/s": 9, "span": 4.0, "kind": 1.0},
    {"stage": "public", "batch": 90, "of": 90, "tokens/s": 9, "span": 9.0, "kind": 0.5},
    {"stage": "public", "batch": 90, "of": 90, "tokens/s": 9, "span": 3.0, "kind": 0.5},
    {"stage": "dialogues", "batch": 50, "of": 70, "tokens/s": 9, "span": 2.0, "stance": 2.0},
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "reader.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return path


def test_batches_are_counted_through_all_stages_and_once(log: Path) -> None:
    assert read_log(log) == {
        "kind": {"public": [(50, 1.0), (90, 0.5)]},
        "span": {"public": [(50, 4.0), (90, 3.0)], "dialogues": [(140, 2.0)]},
        "stance": {"dialogues": [(140, 2.0)]},
    }


def test_a_log_without_batches_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="no batch yet"):
        read_log(tmp_path / "empty.jsonl")


def test_the_picture_has_a_panel_for_each_part(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    drawn = []
    save = figures.Figure.savefig

    def kept(figure: object, *args: object, **options: object) -> None:
        drawn.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(figures.Figure, "savefig", kept)
    out = tmp_path / "curve.png"
    monkeypatch.setattr(sys, "argv", ["learning_curve", str(log), "--out", str(out)])
    learning_curve.main()
    assert out.read_bytes().startswith(b"\x89PNG")
    (figure,) = drawn
    assert [(ax.get_title(), len(ax.lines)) for ax in figure.axes] == [("kind", 1), ("span", 2), ("stance", 1)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["public", "dialogues"]
