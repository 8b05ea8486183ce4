"""Conversations of both forms of file are read, asked in stores of their own, and their scores added up."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.reading import conversations
from eval.experiments.reading.conversation_files import Conversation, load
from eval.experiments.reading.conversations import Models, Outcome, outcomes, shares
from eval.harness.fakes import IndifferentSurpriseModel
from nscma_torch import load_config
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Answer
from nscma_torch.demo.short_answers import Gold, judge
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

_DIALOGUES = """== shop | support
-- 2025-03-02 18:40
1 Maya: my order of the blue kettle never came. Maya Roy, i live in Lyon
2 Aerobot: Sorry to hear that. It was sent on Monday.
3 Tom: she means the green one
? current Where do I live? | Lyon / in Lyon | 1 | stale: Paris
? list Which colours are named? | blue + green / the green one | 1 3
? when When was it sent? | 2025-02-24 / 24 February | 2 | said: on Monday
? unanswerable What did it cost? | - | -

== garden | friends
-- 2025-04-01 08:00
1 Ines: the pears are in
? yesno Are the pears in? | yes | 1
"""
_QUESTIONS: list[dict[str, Any]] = [
    {"question": "Where do I live?", "answer": ["Oslo"], "type": "current", "evidence": [3], "stale": ["Bergen"]},
    {
        "question": "Who is in the band?",
        "answer": ["Joe, Ella", "joe and the band Ella"],
        "type": "list",
        "evidence": [2],
        "stale": [],
        "all": True,
    },
    {"question": "What is the cat called?", "answer": None, "type": "unanswerable", "evidence": [], "stale": ["Joe"]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    said = ("I live in Bergen.", "The band is Joe and Ella.", "I moved to Oslo.", "Congratulations!")
    rows = [
        {"role": role, "name": name, "content": text, "timestamp": f"2025-05-0{day}T10:00:00"}
        for day, (text, (role, name)) in enumerate(
            zip(said, [("user", "Kim")] * 3 + [("assistant", "Assistant")], strict=True), 1
        )
    ]
    (tmp_path / "chat-07.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (tmp_path / "questions-07.json").write_text(json.dumps(_QUESTIONS))
    (tmp_path / "author").mkdir()
    (tmp_path / "author" / "01.txt").write_text(_DIALOGUES)
    return tmp_path


def _models(**sections: Any) -> Models:
    config = load_config({"device": "cpu", "embedder": {"model": "hash"}, **sections})
    return Models(config, HashEmbedder(), IndifferentSurpriseModel())


def test_both_forms_of_file_are_read_from_a_folder(folder: Path) -> None:
    shop, garden, chat = load([folder])
    assert [one.name for one in (shop, garden, chat)] == ["shop", "garden", "chat-07"]
    assert [(one.user, len(one.messages), len(one.questions)) for one in (shop, garden, chat)] == [
        ("Maya", 3, 4),
        ("Ines", 1, 1),
        ("Kim", 4, 3),
    ]
    assert chat.asked_at - timedelta(minutes=1) == chat.messages[-1].timestamp
    assert [question.evidence for question in chat.questions] == [(2,), (1,), ()]
    assert chat.questions[0].gold == Gold(((("Oslo",),),), ("Bergen",))
    assert chat.questions[1].gold == Gold(((("Joe",), ("Ella",)), (("joe",), ("the band Ella",))))
    assert chat.questions[2].gold == Gold((), ("Joe",))


def test_a_labelled_dialogue_gives_roles_members_and_places(folder: Path) -> None:
    shop, garden = load([folder / "author" / "01.txt"])
    assert [(message.role, message.name) for message in shop.messages] == [
        ("user", "Maya"),
        ("assistant", "Aerobot"),
        ("user", "Tom"),
    ]
    lives, colours, sent, cost = shop.questions
    assert lives.gold == Gold(((("Lyon", "in Lyon"),),), ("Paris",)) and lives.evidence == (0,)
    assert colours.gold.answers == ((("blue",), ("green", "the green one")),) and colours.evidence == (0, 2)
    assert sent.gold.answers == ((("2025-02-24", "24 February"),),)
    assert cost.gold == Gold() and cost.evidence == ()
    assert garden.questions[0].gold.yes_no


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evidence": [9]}, "none of the 4 messages"),
        ({"answer": None}, "must have a gold answer"),
        ({"stale": None}, "does not follow the form"),
    ],
)
def test_wrong_questions_are_refused(folder: Path, change: dict[str, Any], message: str) -> None:
    (folder / "questions-07.json").write_text(json.dumps([_QUESTIONS[0] | change]))
    with pytest.raises(InvalidInputError, match=message):
        load([folder / "chat-07.jsonl"])


def _ask(folder: Path, *, given: bool) -> list[Outcome]:
    chat: Conversation = load([folder / "chat-07.jsonl"])[0]
    # not a message is read while a question waits: they are all read before
    return outcomes(chat, _models(retrieval={"settle_seconds": 0}), given=given)


def test_every_question_is_asked_of_the_whole_conversation(folder: Path) -> None:
    lives, band, cat = _ask(folder, given=False)
    assert lives.verdict.short and lives.answer.startswith("Oslo")
    assert (lives.evidence, lives.found, cat.evidence) == (1, 1, 0)
    assert band.verdict.evidence_shown and band.gold == "Joe + Ella or joe + the band Ella"
    assert not cat.verdict.answerable
    assert all(one.seconds > 0 and not one.given for one in (lives, band, cat))


def test_given_evidence_stands_alone_in_its_store(folder: Path) -> None:
    questions = [{**_QUESTIONS[0], "evidence": [1]}, *_QUESTIONS[1:]]
    (folder / "questions-07.json").write_text(json.dumps(questions))
    lives, band = _ask(folder, given=True)
    assert lives.verdict.stale and "Oslo" not in lives.answer  # the message about Oslo is not in this store
    assert band.verdict.evidence_shown and band.given


def _outcome(gold: Gold, text: str, *, abstained: bool = False, evidence: int = 0, found: int = 0) -> Outcome:
    verdict = judge(gold, Answer(text, abstained, 0.5, ()))
    kind = "yesno" if gold.yes_no else "single" if gold.answers else "unanswerable"
    return Outcome("ada", "one", kind, "?", str(gold), False, text, 0.5, verdict, evidence, found, 0.25)


def _four() -> Sequence[Outcome]:
    gold, none = Gold(((("Oslo",),),), ("Bergen",)), Gold()
    return [
        _outcome(gold, "Oslo", evidence=3, found=2),
        _outcome(gold, "Bergen", evidence=1),
        _outcome(gold, "I don't know", abstained=True, evidence=1, found=1),
        _outcome(none, "Oslo"),
        _outcome(none, "I don't know", abstained=True),
    ]


def test_certainty_counts_answers_and_the_recalls_of_yes_and_no() -> None:
    yes, no = (Gold((((word,),),), yes_no=True) for word in ("yes", "no"))
    found = [
        *_four(),
        _outcome(yes, "yes"),
        _outcome(no, "yes"),
        _outcome(no, "no"),
    ]
    (_, _), (_, row) = (
        (column.header, [*column.cells]) for column in conversations.certainty_table(found[:2]).columns[:2]
    )
    assert row == ["2", "2"], "of the author, and of all"
    cells = {str(column.header): [*column.cells][-1] for column in conversations.certainty_table(found).columns}
    assert cells["n"] == "8" and cells["answered"] == "6" and cells["right"] == "0.500"
    assert cells["ECE"] == "0.000", "half of the answers are right, at a confidence of .5"
    assert cells["yes"] == "1 of 1" and cells["no"] == "1 of 2"


def test_shares_are_over_what_each_score_can_be_told_of() -> None:
    told = shares(_four())
    third = pytest.approx(1 / 3)
    assert {name: (share.share, share.n) for name, share in told.items()} == {
        "short": (third, 3),
        "evidence_shown": (third, 3),
        "stale": (third, 3),
        "silent": (third, 3),
        "invented": (0.5, 2),
        "found": (pytest.approx(3 / 5), 5),
    }
    # Wilson (1927) for 1 of 2 at 95 %
    assert [told["invented"].low, told["invented"].high] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert "invented" not in shares(_four()[:3]) and "short" not in shares(_four()[3:])


def test_the_program_prints_tables_and_writes_each_question(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, written = folder / "light.toml", folder / "outcomes.json"
    config.write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n')
    options = ["--errors", "--given", "--json", str(written)]
    paths = ["--conversations", str(folder / "chat-07.jsonl"), "--config", str(config)]
    monkeypatch.setattr(sys, "argv", ["conversations", *paths, *options])
    conversations.main()
    printed = capsys.readouterr().out
    assert "the whole conversation" in printed and "the evidence alone" in printed
    assert "current      chat-07: Where do I live?\n    gold: Oslo\n  answer: Oslo" in printed
    rows = json.loads(written.read_text())
    assert [(row["question"], row["given"]) for row in rows] == [
        *((question["question"], False) for question in _QUESTIONS),
        *((question["question"], True) for question in _QUESTIONS[:2]),
    ]
    assert rows[0]["verdict"]["short"] is True
