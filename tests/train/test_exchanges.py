"""train/reader: exchanges are read whole or refused, and their examples keep every label and no false negative."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from nscma_torch.reading.fact_picker import PickerModel
from nscma_torch.reading.fact_questions import object_question, subject_question
from nscma_torch.reading.reader_model import KINDS, STANCES
from nscma_torch.relations import load_relations
from train.reader.dialogue_text import DialogueError
from train.reader.examples import Example
from train.reader.exchange_examples import exchange_examples, subject_wordings
from train.reader.exchange_text import Exchange, read_all
from train.reader.train_picker import Recipe, recall, train

SCHEMA = load_relations()
TEXT = """== maya-keys
-- 2025-03-02
1 Maya: so the keys to the flat in lyon are finally mine. paris, it was nice knowing you
2 Tom: congrats! did anyone want the old printer? they ask 40 for those
3 Maya: nope, it sits on my desk. my sister takes the red kettle and the lamp
= 1 | lives_in | Maya | lyon
= 1 | lives_in | Maya | paris | ended
= 2 | costs | old printer | 40 | supposed
= 3 | located_in | old printer | my desk
= 3 | owns | Maya's sister | red kettle | future
= 3 | owns | Maya's sister | lamp | future
~ 3 | old printer | sits on | my desk
"""


def parsed(folder: Path, text: str) -> list[Exchange]:
    (folder / "ana").mkdir(exist_ok=True)
    (folder / "ana" / "01.txt").write_text(text, encoding="utf-8")
    return list(read_all(folder, SCHEMA))


def test_an_exchange_is_read_whole(tmp_path: Path) -> None:
    (exchange,) = parsed(tmp_path, TEXT)
    assert [message.speaker for message in exchange.messages] == ["Maya", "Tom", "Maya"]
    assert exchange.messages[0].said_at < exchange.messages[1].said_at
    _, paris, printer, *_, told = exchange.facts
    assert (paris.relation, paris.object, paris.stance) == ("lives_in", "paris", "ended")
    assert (printer.subject, printer.stance, printer.open) == ("old printer", "supposed", False)
    assert (told.relation, told.open) == ("sits on", True)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("= 4 | lives_in | Maya | lyon", "no message has the number '4'"),
        ("= 1 | dwells | Maya | lyon", "no relation 'dwells'"),
        ("= 1 | lives_in | Maya | oslo", "'oslo' stands in no message up to 1"),
        ("= 1 | costs | old printer | 40", "'40' stands in no message up to 1"),
        ("= 1 | lives_in | Maya | lyon | perhaps", "no stance is called 'perhaps'"),
        ("= 1 | favourite | Maya | lyon", "favourite needs a topic"),
        ("= 1 | lives_in | Maya | lyon | topic: town", "lives_in has no topic"),
        ("= 1 | lives_in | Maya", "a fact is"),
        ("5 Tom: and now?", "messages are numbered from 1"),
    ],
)
def test_what_an_exchange_does_not_bear_out_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(DialogueError, match=problem) as caught:
        parsed(tmp_path, f"{TEXT}{line}\n")
    assert "01.txt:13" in str(caught.value)


def examples(tmp_path: Path, seed: int = 0) -> list[Example]:
    (exchange,) = parsed(tmp_path, TEXT)
    return list(exchange_examples(exchange, SCHEMA, random.Random(seed)))


def shown(example: Example) -> set[str]:
    return {
        one.passage.text[span.start : span.end] if span.of_text else one.passage.speaker
        for one in example.passages
        for span in one.answers
    }


def test_objects_and_subjects_have_their_spans(tmp_path: Path) -> None:
    for seed in range(20):  # a number of turns, and whether the user has a name, are drawn
        found = {(e.question, e.passages[-1].passage.text[:2]): e for e in examples(tmp_path, seed)}
        objects = found[object_question(SCHEMA["owns"]), "no"]
        assert shown(objects) == {"red kettle", "lamp"}
        assert objects.kind == KINDS.index("list")
        whose = found[subject_question(SCHEMA["owns"], "lamp"), "no"]
        assert shown(whose) == {"my sister"}
        assert whose.label == STANCES.index("future")
        where = found[subject_question(SCHEMA["lives_in"], "paris"), "so"]
        assert shown(where) in ({"Maya"}, {"user"})
        assert where.label == STANCES.index("ended")
        printer = found[subject_question(SCHEMA["located_in"], "my desk"), "no"]
        if len(printer.passages) > 1:
            assert shown(printer) == {"old printer"}, "it is named in the turn before"


def test_no_fact_is_asked_as_if_it_were_not_stated(tmp_path: Path) -> None:
    (exchange,) = parsed(tmp_path, TEXT)
    stated = {object_question(SCHEMA[fact.relation]): fact.number for fact in exchange.facts if not fact.open}
    pairs = {subject_question(SCHEMA[f.relation], f.object): f.number for f in exchange.facts if not f.open}
    unstated = 0
    for seed in range(40):
        for example in examples(tmp_path, seed):
            *_, own = example.passages
            number = next(i for i, m in enumerate(exchange.messages, start=1) if m.text == own.passage.text)
            if own.holds is False:
                unstated += 1
                assert stated.get(example.question) != number
                assert pairs.get(example.question) != number
    assert unstated > 100


def test_wordings_of_a_subject() -> None:
    assert subject_wordings("the lamp") == ["the lamp", "lamp"]
    assert {"Maya's sister", "my sister", "your sister", "sister"} <= set(subject_wordings("Maya's sister"))


RECIPE = {
    "seed": 1,
    "epochs": 25,
    "learning_rate": 2e-3,
    "head_rate": 4.0,
    "warmup": 2,
    "batch_tokens": 512,
    "bfloat16": False,
    "weight_decay": 0.0,
    "clip": 1.0,
    "log_every": 50,
}


def test_a_picker_learns_what_it_is_shown(tmp_path: Path) -> None:
    parsed(tmp_path, TEXT)
    device = torch.device("cpu")
    untrained = PickerModel(list(SCHEMA.relations)).eval()
    trained = train(Recipe.model_validate(RECIPE), tmp_path, device)
    assert recall(trained, tmp_path, device)[2] == 1.0
    assert recall(untrained, tmp_path, device)[2] < 1.0
