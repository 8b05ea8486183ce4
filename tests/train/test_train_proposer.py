"""train/reader: examples of the proposer have the tokens of their labels, and it learns what it is shown."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.reading.fact_proposer import FactProposer
from nscma_torch.reading.fact_questions import object_question, open_object_question
from nscma_torch.reading.proposer_model import UNTOLD, ProposerModel
from nscma_torch.reading.reader_input import InputPassage, Packer
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import load_relations
from train.reader import proposer_losses
from train.reader.dialogue_text import read_dialogues
from train.reader.exchange_text import read_all
from train.reader.proposer_examples import Message, Tokens, of_dialogue, of_exchange
from train.reader.proposer_losses import Judged, Relations, losses
from train.reader.train_proposer import Folders, Recipe, Training

SCHEMA = load_relations()
NAMES = tuple(SCHEMA.relations)
TEXT = """== maya-keys
-- 2025-03-02
1 Maya: so the keys to the flat in lyon are finally mine. paris, it was nice knowing you
2 Tom: is my sister still your flatmate? the wifi password of the office is tulip7
3 Maya: yes, Clara is. Moneybomb was coined in 2007
= 1 | lives_in | Maya | lyon
= 1 | lives_in | Maya | paris | ended
= 2 | value | office | tulip7 | topic: wifi password
= 3 | roommate | Maya | Clara
~ 3 | Moneybomb | was coined in | 2007
"""
DIALOGUE = """== ana-boat | friends
-- 2025-03-02 18:40
1 Ana: sold the boat at last
2 Ben: to whom?
? single What did Ana sell? | the boat / boat | 1
= ended 1 | Ana | owns | the boat
"""
RECIPE = {
    "start": "",
    "seed": 1,
    "epochs": 12,
    "dialogue_epochs": 1,
    "learning_rate": 4e-3,
    "encoder_rate": 0.5,
    "own_vectors": 0.75,
    "warmup": 3,
    "batch_tokens": 512,
    "bfloat16": False,
    "weight_decay": 0.0,
    "clip": 1.0,
    "ema": 0.5,
    "log_every": 50,
    "save_every": 50,
}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    for name, text in (("exchanges", TEXT), ("dialogues", DIALOGUE)):
        (tmp_path / name / "ana").mkdir(parents=True)
        (tmp_path / name / "ana" / "01.txt").write_text(text, encoding="utf-8")
    return Folders(exchanges=None, complete=tmp_path / "exchanges", dialogues=tmp_path / "dialogues")


def packer() -> Packer:
    return Packer(ProposerModel(NAMES).tokenizer, 256)


def words(message: Message, texts: list[str], tokens: Tokens) -> str:
    at = message.row.characters_of(*tokens)
    return texts[at.passage][at.start : at.end] if at.of_text else f"speaker {at.passage}"


def test_labels_are_found_in_the_tokens_of_what_is_read(folders: Folders) -> None:
    assert folders.complete is not None and folders.dialogues is not None
    (exchange,) = read_all(folders.complete, SCHEMA)
    for seed in range(12):
        first, second, third = of_exchange(exchange, packer(), random.Random(seed), open_known=True)
        lyon, paris = first.facts
        texts = [exchange.messages[0].text]
        assert words(first, texts, lyon.objects[0]) == "lyon" and words(first, texts, paris.objects[0]) == "paris"
        assert words(first, texts, lyon.subjects[0]) == "speaker 0"
        assert (STANCES[lyon.stance], STANCES[paris.stance]) == ("holds", "ended")
        own = len({piece.passage for piece in third.row.pieces if piece is not None})
        texts = [message.text for message in exchange.messages][3 - own :]
        clara, coined = third.facts
        assert words(third, texts, clara.objects[0]) == "Clara"
        assert words(third, texts, coined.objects[0]) == "2007" and coined.open
        assert words(third, texts, coined.subjects[0]) == "Moneybomb"
        assert words(third, texts, coined.topics[0]) == "was coined in"
        (password,) = second.facts
        own = len({piece.passage for piece in second.row.pieces if piece is not None})
        texts = [message.text for message in exchange.messages][2 - own :]
        assert words(second, texts, password.topics[0]) == "wifi password"
        assert first.schema_known and first.open_known
    (dialogue,) = read_dialogues(folders.dialogues / "ana" / "01.txt")
    (sold,) = of_dialogue(dialogue, packer())
    assert not sold.schema_known and not sold.open_known and sold.facts[0].relation == "owns"


def test_no_label_is_judged_to_be_untold(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folders.complete is not None
    (exchange,) = read_all(folders.complete, SCHEMA)
    batch = list(of_exchange(exchange, packer(), random.Random(0), open_known=True))
    model = ProposerModel(NAMES)
    asked = model.words_of([object_question(SCHEMA[name]) for name in NAMES])
    relations = Relations(NAMES, asked, NAMES.index("statement"))
    seen: list[Judged] = []
    judged = proposer_losses._judged
    monkeypatch.setattr(proposer_losses, "_judged", lambda *a: (seen.append(one) or one for one in judged(*a)))
    parts = losses(model, batch, relations, lambda texts: model.words_of(texts), 1.0)
    assert set(parts) == {"object", "stance", "subject", "topic"}
    stated = {
        (i, tokens, NAMES.index(fact.relation) if not fact.open else relations.open)
        for i, message in enumerate(batch)
        for fact in message.facts
        for tokens in fact.objects
    }
    untold = {(one.row, (one.first, one.last), one.relation) for one in seen if one.stance == UNTOLD}
    assert len(untold) > 6 and not untold & stated
    assert {(one.row, (one.first, one.last)) for one in seen if one.fact is not None} == {own[:2] for own in stated}


def test_a_predicate_that_is_named_like_a_relation_is_another(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folders.complete is not None and folders.dialogues is not None
    (exchange,) = read_all(folders.complete, SCHEMA)
    (dialogue,) = read_dialogues(folders.dialogues / "ana" / "01.txt")  # somebody "owns" something
    exchange.facts[0] = replace(exchange.facts[0], relation="owns")
    batch = [*of_exchange(exchange, packer(), random.Random(0), open_known=True), *of_dialogue(dialogue, packer())]
    model = ProposerModel(NAMES)
    asked = model.words_of([object_question(SCHEMA[name]) for name in NAMES])
    seen: list[Judged] = []
    judged = proposer_losses._judged
    monkeypatch.setattr(proposer_losses, "_judged", lambda *a: (seen.append(one) or one for one in judged(*a)))
    relations = Relations(NAMES, asked, NAMES.index("statement"))
    losses(model, batch, relations, lambda texts: model.words_of(texts), 1.0)
    owned = [(one.row, one.relation) for one in seen if one.fact is not None and one.fact.relation == "owns"]
    assert owned[0] == (0, NAMES.index("owns"))
    assert [relation for row, relation in owned if row == 3] == [relations.open, len(NAMES)]


def test_it_learns_what_it_is_shown_and_goes_on_to_the_bit(folders: Folders, tmp_path: Path) -> None:
    recipe = Recipe.model_validate(RECIPE)
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    Training(recipe, folders, whole, torch.device("cpu")).run()
    Training(recipe, folders, halves, torch.device("cpu")).run(stop=5)
    Training(recipe, folders, halves, torch.device("cpu")).run()
    with open_tensors(whole, "", missing="") as one, open_tensors(halves, "", missing="") as other:
        own, again = all_tensors(one), all_tensors(other)
    assert all(torch.equal(own[name], again[name]) for name in own)
    proposer = FactProposer.from_pretrained(SCHEMA, whole)
    (found,) = proposer.propose(
        [[InputPassage("so the keys to the flat in lyon are finally mine. paris, it was", "Maya")]]
    )
    best = found.facts[0]
    assert (best.relation, best.object.text) in (("lives_in", "lyon"), ("lives_in", "paris"))
    assert best.subject.text == "Maya"
    assert found.picks["lives_in"] > 10 * found.picks["pet"]


def test_a_predicate_is_asked_in_its_own_words() -> None:
    assert open_object_question("was coined in") == "someone was coined in what?"
