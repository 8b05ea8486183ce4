"""train/reader: what a dialogue does not bear out is refused; examples, batches and losses keep every label."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

import pytest
import torch

from nscma_torch.reading.reader_input import Packer
from nscma_torch.reading.reader_model import CHANGES, KINDS, STANCES, Outputs
from nscma_torch.text.embedders.minilm import bundled_folder, load_tokenizer
from train.reader.batches import batches, group_of, padded
from train.reader.dialogue_examples import dialogue_examples, of_another, question_example, spans_of
from train.reader.dialogue_text import Dialogue, DialogueError, read_dialogues
from train.reader.losses import losses

SEP = 102  # of BERT's uncased vocabulary
TEXT = """== chat-001 | friends
-- 2025-03-02 18:40
1 Maya: started at the bakery on monday, my feet hurt
2 Tom: nice! and Clara?
-- 2025-06-11 09:12
3 Maya: she moved to Lyon. and i'm at the florist's now, since may
? current Where does Maya work? | the florist's / florist | 3 | stale: the bakery
? when When did Maya start at the bakery? | 2025-02-24 / 24 February | 1 | said: on monday
? list Where has Maya worked? | the bakery + the florist's | 1 3
? yesno Is Clara in Lyon? | yes | 3
? unanswerable What is Tom's brother called? | - | - | stale: Clara
= holds 1 | Maya | works at | the bakery
^ replaces 3 > 1 | Maya's job | the bakery > the florist's
& 3 | she | Clara @ 2
"""


@pytest.fixture(scope="module")
def packer() -> Packer:
    return Packer(load_tokenizer(bundled_folder()), 64)


@pytest.fixture
def dialogue(tmp_path: Path) -> Dialogue:
    return parsed(tmp_path, TEXT)


def parsed(folder: Path, text: str) -> Dialogue:
    path = folder / "one.txt"
    path.write_text(text, encoding="utf-8")
    (found,) = read_dialogues(path)
    return found


def test_a_dialogue_is_read_whole(dialogue: Dialogue) -> None:
    assert [message.speaker for message in dialogue.messages] == ["Maya", "Tom", "Maya"]
    assert [message.said_at.date() for message in dialogue.messages] == [date(2025, 3, 2)] * 2 + [date(2025, 6, 11)]
    assert dialogue.messages[0].said_at < dialogue.messages[1].said_at
    current, when, both, _, unknown = dialogue.questions
    assert (current.gold, current.evidence, current.stale) == ((("the florist's", "florist"),), (3,), ("the bakery",))
    assert (
        when.said == ((1, "on monday"),) and both.gold == (("the bakery",), ("the florist's",)) and unknown.gold == ()
    )
    assert dialogue.statements[0].stance == "holds" and dialogue.changes[0].old == "the bakery"
    assert dialogue.coreferences[0].referent_number == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("| the florist's / florist | 3 ", "| the chemist's | 3 ", 'says "the chemist\'s"'),
        ("| 3 | stale: the bakery", "| 9 | stale: the bakery", "'9' is not the number of a message"),
        (" | said: on monday", "", "tell what was said"),
        ("said: on monday", "said: on friday", "says 'on friday'"),
        ("? yesno Is Clara in Lyon? | yes", "? yesno Is Clara in Lyon? | Lyon", "'yes' or 'no'"),
        ("called? | - |", "called? | Bob |", "'-' for an unanswerable"),
        ("= holds 1", "= hopes 1", "no stance"),
        ("| works at | the bakery", "| works at | the school", "word for word"),
        ("^ replaces 3 > 1", "^ replaces 1 > 3", "stands after"),
        ("& 3 | she", "& 2 | she", "message 2 does not say 'she'"),
        ("3 Maya:", "4 Maya:", "the next message has the number 3"),
        ("-- 2025-06-11", "-- 2024-06-11", "lies before"),
        ("? current", "? newest", "no type of question"),
    ],
)
def test_a_label_that_the_messages_do_not_bear_out_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DialogueError, match=said):
        parsed(tmp_path, TEXT.replace(old, new, 1))


def test_examples_of_every_label(dialogue: Dialogue, packer: Packer) -> None:
    examples = list(dialogue_examples(dialogue, random.Random(0)))
    assert [example.task for example in examples].count("read") >= 7  # five questions, a slot and a mention, at least
    slot = next(example for example in examples if example.question == "Maya works at what?")
    assert slot.label == STANCES.index("holds") and slot.passages[-1].answers and slot.passages[-1].holds
    stance = next(example for example in examples if example.task == "stance")
    assert (stance.question, stance.label) == ("Maya works at the bakery", STANCES.index("holds"))
    labels = {CHANGES[example.label] for example in examples if example.task == "change" and example.label is not None}
    assert labels == {"replaces", "none"}
    for example in examples:
        group = group_of(example, packer, 10)
        wanted = sum(len(labelled.answers) for labelled in example.passages)
        assert sum(len(row.answers) for row in group.rows) == wanted


def test_what_is_right_and_where_it_stands(dialogue: Dialogue, packer: Packer) -> None:
    example = question_example(dialogue, dialogue.questions[0], None)
    old, between, new = example.passages
    text = new.passage.text
    assert [text[span.start : span.end] for span in new.answers] == ["the florist's"] and new.holds
    assert not old.answers and not old.holds and not between.holds
    assert example.kind == KINDS.index("span") and example.question.startswith("Maya asks: ")
    (row,) = [row for row in group_of(example, packer, 10).rows if row.answers]
    piece = row.row.characters_of(*row.answers[0])
    assert piece.passage == 2 and text[piece.start : piece.end] == "the florist's"
    assert [row.row.ids[end] for end, _ in row.evidence] == [SEP] * len(row.evidence)
    assert [held for _, held in row.evidence][-1] and row.holds


def test_without_its_evidence_a_question_has_no_answer(dialogue: Dialogue, packer: Packer) -> None:
    told = dialogue.questions[1]  # when did Maya start at the bakery?
    made = [question_example(dialogue, told, random.Random(seed)) for seed in range(60)]
    unanswered = [example for example in made if example.kind is None]
    assert 0 < len(unanswered) < 30
    for example in unanswered:
        assert not any(
            labelled.holds or labelled.passage.text == dialogue.messages[0].text for labelled in example.passages
        )
        assert [row.holds for row in group_of(example, packer, 10).rows] == [False]
    current = dialogue.questions[0]  # an outdated value would seem to answer it
    assert all(question_example(dialogue, current, random.Random(seed)).kind is not None for seed in range(60))


def test_what_one_speaker_told_is_not_told_of_another(dialogue: Dialogue, packer: Packer) -> None:
    example = of_another(dialogue, dialogue.questions[0], random.Random(0))
    assert example is not None and example.question == "Maya asks: Where does Tom work?"
    assert {row.holds for row in group_of(example, packer, 10).rows} == {False} and example.kind is None
    assert of_another(dialogue, dialogue.questions[3], random.Random(0)) is None, "yes or no"
    assert of_another(dialogue, dialogue.questions[4], random.Random(0)) is None, "not told at all"


def test_a_wording_stands_as_whole_words_or_is_the_speaker(dialogue: Dialogue) -> None:
    passage = question_example(dialogue, dialogue.questions[0], None).passages[0].passage
    assert spans_of(passage, "bake") == [] and len(spans_of(passage, "BAKERY")) == 1
    assert spans_of(passage, "Maya") == [(0, 4, False)]


def test_batches_hold_every_example_once_within_their_tokens(
    dialogue: Dialogue, packer: Packer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("train.reader.batches.CHUNK", 20)
    rng = random.Random(1)
    examples = [example for _ in range(6) for example in dialogue_examples(dialogue, rng)]
    made = list(batches(examples, [packer], 4, 512, "seed"))
    assert len(examples) > 40, "there are several chunks"
    assert sorted(map(id, examples)) == sorted(id(group.example) for _, own in made for group in own)
    read = 0
    for before, own in made:
        rows = sum(len(group.rows) for group in own)
        assert len(own) == 1 or rows * max(group.length for group in own) <= 512
        assert before == read
        read += len(own)
    again = list(batches(examples, [packer], 4, 512, "seed"))
    assert [[id(group.example) for group in own] for _, own in again] == [
        [id(group.example) for group in own] for _, own in made
    ]


@pytest.mark.parametrize(("number", "mean_of_logs"), [(0, False), (2, True)])
def test_the_loss_is_that_of_the_right_tokens_among_all(
    dialogue: Dialogue, packer: Packer, number: int, mean_of_logs: bool
) -> None:
    group = group_of(question_example(dialogue, dialogue.questions[number], None), packer, 10)
    batch = padded([group])
    torch.manual_seed(0)
    rows, length = batch.ids.shape
    out = Outputs(
        torch.randn(rows, length), torch.randn(rows, length), torch.randn(rows, length), torch.randn(rows),
        torch.randn(rows, len(KINDS)), torch.randn(rows, len(STANCES)), torch.randn(rows, len(CHANGES)),
    )  # fmt: skip
    expected = []
    for logits, end in ((out.first, 0), (out.last, 1)):
        total = sum(logits[i, j].exp() for i in range(rows) for j in range(length) if batch.spannable[i, j])
        shares = torch.stack([logits[i, p[end]].exp() / total for i, row in enumerate(group.rows) for p in row.answers])
        expected.append(-shares.log().mean() if mean_of_logs else -shares.sum().log())
    found = losses(out, batch)
    assert torch.allclose(found["span"], torch.stack(expected).mean(), atol=1e-5)
    assert set(found) == {"span", "kind", "evidence", "answerable"}
