"""Scores of the reader alone: test units only, the inputs of each part, and what right and wrong readings come to."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from eval.experiments.reading import reader_scores
from eval.experiments.reading.reader_scores import (
    SQUAD,
    Asked,
    Classed,
    change_measures,
    changes,
    load_dialogues,
    mentions,
    objects,
    span_measures,
    squad_measures,
    squad_questions,
    stance_measures,
    statements,
)
from eval.reporting.measures import Measure
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES, STANCES
from train.reader.dialogue_text import Dialogue
from train.reader.examples import Example
from train.reader.public_sets import GAP, pronouns

DIALOGUE = """== chat-001 | friends
-- 2025-03-02 18:40
1 Maya: started at the bakery on monday, my feet hurt
2 Tom: nice! and Clara?
-- 2025-06-11 09:12
3 Maya: she moved to Lyon. and i'm at the florist's now, since may
4 Tom: if only it would rain
? current Where does Maya work? | the florist's / florist | 3 | stale: the bakery
= holds 1 | Maya | works at | the bakery
= wished 4 | it | would | rain
^ replaces 3 > 1 | Maya's job | the bakery > the florist's
& 3 | she | Clara @ 2
"""
HOLDS, WISHED, DENIED = (STANCES.index(name) for name in ("holds", "wished", "denied"))
NONE, REPLACES, ENDS = (CHANGES.index(name) for name in ("none", "replaces", "ends"))


@pytest.fixture
def dialogues(tmp_path: Path) -> list[Dialogue]:
    (tmp_path / "dialogues" / "ann").mkdir(parents=True)
    (tmp_path / "dialogues" / "ann" / "01.txt").write_text(DIALOGUE, encoding="utf-8")
    return load_dialogues(tmp_path / "dialogues")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three paragraphs of SQuAD 2.0, the last one for testing; two files of GAP with two rows for testing each."""
    folder = tmp_path / "data" / "reading"
    articles = [{"paragraphs": [_paragraph("Ana"), _paragraph("Bo")]}, {"paragraphs": [_paragraph("Cem")]}]
    _write(folder / SQUAD, json.dumps({"data": articles}))
    head = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"]
    rows = [["1", "Ann met Bea. She left.", "She", "13", "Ann", "0", a, "Bea", "8", "FALSE", "x"] for a in _RIGHT]
    for name in GAP:
        _write(folder / name, "".join("\t".join(row) + "\n" for row in [head, *rows]))
    splits = [(SQUAD, 2), *((name, 1) for name in GAP)]
    lines = [f"{name}\t{first}\n" for name, first in splits]
    (folder / "SPLITS.tsv").write_text("file\tfirst_test_unit\n" + "".join(lines), encoding="utf-8")
    return tmp_path / "data"


_RIGHT = ("TRUE", "TRUE", "FALSE")


def _paragraph(name: str) -> dict[str, Any]:
    told = {
        "question": f"Who is {name}?",
        "is_impossible": False,
        "answers": [{"text": "a painter", "answer_start": 7}],
    }
    untold = {"question": " Where does she live? ", "is_impossible": True, "answers": []}
    return {"context": f"{name} is a painter. He lives in Porto.", "qas": [told, untold]}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def _read(answerable: float, *spans: tuple[str, int, int, int]) -> ReadResult:
    return ReadResult(tuple(ReadSpan(*span, of_text=True, share=0.5) for span in spans), answerable, (), ())


def _values(measures: Sequence[Measure]) -> dict[str, tuple[float, int]]:
    return {one.name: (round(one.value, 3), one.n) for one in measures}


def test_only_test_units_are_read(data: Path) -> None:
    asked = list(squad_questions(data / "reading"))
    context = "Cem is a painter. He lives in Porto."
    assert asked == [Asked("Who is Cem?", context, ("a painter",)), Asked("Where does she live?", context, ())]
    assert [bool(one.passages[0].answers) for one in pronouns(data / "reading", test=True)] == [True, False] * 2
    assert len(list(pronouns(data / "reading", test=False))) == 2


def test_no_answer_is_given_below_the_threshold() -> None:
    asked = [Asked("a", "text", ("Porto", "to Porto")), Asked("b", "text", ()), Asked("c", "other", ("Lisbon",))]
    read = [_read(0.7, ("Porto", 0, 0, 5)), _read(0.6, ("Lisbon", 0, 0, 6)), _read(0.4, ("in Lisbon", 0, 0, 9))]
    assert _values(squad_measures(asked, read, 0.65)) == {
        "EM": (0.667, 3),
        "F1": (0.667, 3),
        "F1, HasAns": (0.5, 2),
        "F1, NoAns": (1.0, 1),
        "AUC of answerable": (0.5, 3),
    }
    low = _values(squad_measures(asked, read, 0.3))
    assert (low["EM"], low["F1"], low["F1, NoAns"]) == ((0.333, 3), (0.556, 3), (0.0, 1))


def test_each_part_has_its_own_labels(dialogues: list[Dialogue]) -> None:
    assert [(one.question, one.label) for one in statements(dialogues)] == [
        ("Maya works at the bakery", HOLDS),
        ("it would rain", WISHED),
    ]
    assert sorted((one.question[:12], one.label) for one in changes(dialogues)) == [
        ("Maya: starte", REPLACES),
        ("Tom: nice! a", NONE),
    ]
    assert {one.question for one in objects(dialogues)} == {"Maya works at what?", "it would what?"}
    (mention,) = mentions(dialogues)
    assert mention.question.startswith('who or what is "she" in "Maya: she moved')


def test_what_is_wrongly_taken_to_hold_or_to_change_is_counted() -> None:
    stances = [Classed(HOLDS, HOLDS), Classed(HOLDS, DENIED), *[Classed(WISHED, HOLDS), Classed(DENIED, WISHED)]]
    assert _values(stance_measures(stances)) == {
        "accuracy": (0.25, 4),
        "what does not hold taken for what holds": (0.5, 2),
        "what holds taken for what does not": (0.5, 2),
    }
    found = [Classed(REPLACES, REPLACES), Classed(REPLACES, NONE), Classed(ENDS, REPLACES), Classed(NONE, ENDS)]
    assert _values(change_measures(found)) == {
        "accuracy": (0.25, 4),
        "accuracy, of labelled changes": (0.333, 3),
        "a labelled change missed": (0.333, 3),
        "a change read where none is labelled": (1.0, 1),
    }


def test_spans_are_exact_near_or_elsewhere(dialogues: list[Dialogue], data: Path) -> None:
    (mention,) = mentions(dialogues)  # Clara, in the second message
    told, untold = list(pronouns(data / "reading", test=True))[:2]  # Ann, and nobody
    at = next(i for i, one in enumerate(mention.passages) if one.answers)
    (right,) = mention.passages[at].answers

    def measured(example: Example, read: ReadResult) -> dict[str, tuple[float, int]]:
        return _values(span_measures([example, untold], [read, _read(0.1, ("Ann", 0, 0, 3))], 0.5))

    exact = measured(mention, _read(0.9, ("clara", at, *right[:2])))
    near = measured(mention, _read(0.9, ("and Clara?", at, right.start - 4, right.end + 1)))
    elsewhere = measured(mention, _read(0.05, ("Maya", at, 0, 4)))
    same_place_of_another = measured(mention, _read(0.9, ("Tom", 1 - at, *right[:2])))
    assert [m["exact span"][0] for m in (exact, near, elsewhere, same_place_of_another)] == [1.0, 0.0, 0.0, 0.0]
    assert [m["near span"][0] for m in (exact, near, elsewhere, same_place_of_another)] == [1.0, 1.0, 0.0, 0.0]
    assert exact["silent, not told"] == (1.0, 1) and exact["silent, told"] == (0.0, 1)
    assert elsewhere["silent, told"] == (1.0, 1) and elsewhere["AUC of answerable"] == (0.0, 2)
    assert "silent, not told" not in _values(span_measures([told], [_read(0.9)], 0.5))


class Fixed:
    """Reads the first word of the first passage, takes everything to hold, and every change for an end."""

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        texts = [own[0].text.split()[0] for own in passages]
        assert len(texts) == len(questions)
        return [_read(0.9, (text, 0, 0, len(text))) for text in texts]

    def stances(self, statements: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> Tensor:
        assert len(statements) == len(passages)
        return torch.eye(len(STANCES))[[HOLDS] * len(statements)]

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> Tensor:
        assert len(earlier) == len(later)
        return torch.eye(len(CHANGES))[[ENDS] * len(earlier)]


def test_all_parts_are_printed(
    data: Path, dialogues: list[Dialogue], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dialogues
    monkeypatch.setattr(Reader, "from_pretrained", lambda *_, **__: Fixed())
    folder = str(data.parent / "dialogues")
    monkeypatch.setattr(sys, "argv", ["reader_scores", "--data", str(data), "--dialogues", folder, "--limit", "3"])
    reader_scores.main()
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    rows = [cells for cells in lines if cells]
    assert ["EM", "0.000", "[0.000, 0.658]", "2"] in rows
    assert ["what does not hold taken for what holds", "1.000", "[0.207, 1.000]", "1"] in rows
    assert ["wished", "1", *[""] * 7, "1", "0.000"] in rows
    assert ["replaces", *[""] * 4, "1", *[""] * 5, "1", "0.000"] in rows
    assert ["exact span", "1.000", "[0.207, 1.000]", "1"] in rows  # of GAP, of which three rows of four are drawn
