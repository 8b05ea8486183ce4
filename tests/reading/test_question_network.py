"""The network that reads questions: merged weights tell what trained ones did, slots stand where they may, and files of
weights."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.reading.fact_questions import object_question
from nscma_torch.reading.question_model import ASKS, SLOTS, QuestionModel
from nscma_torch.reading.question_network import LONGEST_SLOT, QuestionNetwork, _spans, shared_network
from nscma_torch.reading.relation_model import RELATIONS
from nscma_torch.reading.relations import Schema, load_relations

NAMES = ["lives_in", "costs", "value"]


def schema(*names: str) -> Schema:
    bundled = load_relations()
    return bundled.model_copy(update={"relations": {name: bundled[name] for name in names}})


def some_model() -> QuestionModel:
    """A model with random changes, which takes most for a question for an object."""
    torch.manual_seed(0)
    model = QuestionModel(NAMES)
    with torch.no_grad():
        for parameter in model.trained().values():
            parameter.add_(torch.randn_like(parameter) * 0.02)
        model.asks.bias[ASKS.index("object")] += 9
    return model.eval()


def test_merged_layers_do_what_the_trained_ones_did() -> None:
    model = some_model()
    ids = torch.tensor([model.tokenizer.encode("Where does my sister live?").ids])
    mask = torch.ones_like(ids, dtype=torch.bool)
    with torch.no_grad():
        asked = [object_question(load_relations()[name]) for name in NAMES]
        vectors = model.vectors(model.words_of(asked), torch.arange(3))
        trained = model(ids, mask, vectors)
        model.merge()
        for part, own in zip(model(ids, mask, vectors), trained, strict=True):
            assert torch.allclose(part, own, atol=1e-5)


def test_a_network_is_written_and_read(tmp_path: Path) -> None:
    model = some_model()
    weights = {name: p.detach().clone() for name, p in model.trained().items()}
    save_file(weights, tmp_path / "q", {RELATIONS: " ".join(NAMES)})
    own = QuestionNetwork(model, schema(*NAMES)).read("What does the flat in Porto cost?")
    read = QuestionNetwork.from_pretrained(schema(*NAMES), tmp_path / "q").read("What does the flat in Porto cost?")
    assert (own.asks, own.relation, own.slots) == (read.asks, read.relation, read.slots)
    assert own.confidence == pytest.approx(read.confidence, rel=1e-3)


def test_slots_stand_in_the_question_and_are_short() -> None:
    network = QuestionNetwork(some_model(), schema(*NAMES))
    for question in ("Wo wohnst du?", "what is the port of " + "the very long " * 20 + "API?", "x", "¿? ué 我 🙂 né"):
        read = network.read(question)
        assert read.asks == "object" and read.relation in NAMES and 0 <= read.confidence <= 1
        assert all(slot in question for slot in read.slots)
        assert all(len(network._model.tokenizer.encode(slot).ids) - 2 <= LONGEST_SLOT for slot in read.slots)


def test_a_relation_that_it_was_not_trained_on_is_known_by_its_words_and_questions(tmp_path: Path) -> None:
    (tmp_path / "relations.toml").write_text(
        """[supports_team]
meaning = "is a fan of a sports team"
object = "group"
en.template = "{subject} supports {object}"
en.asks = ["Which team does Luca support?"]
""",
        encoding="utf-8",
    )
    wider = load_relations(tmp_path / "relations.toml")
    bundled = load_relations()
    wider = bundled.model_copy(update={"relations": {**bundled.relations, **wider.relations}})
    read = shared_network(wider, torch.device("cpu")).read("What football team does Ana support?")
    assert (read.asks, read.relation, read.slots.subject) == ("object", "supports_team", "Ana")


def test_what_is_no_such_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="weights that read questions are missing"):
        QuestionNetwork.from_pretrained(schema(*NAMES), tmp_path / "none")
    save_file({"a": torch.zeros(1)}, tmp_path / "other", {RELATIONS: "lives_in"})
    with pytest.raises(ModelError, match="train it again"):
        QuestionNetwork.from_pretrained(schema(*NAMES), tmp_path / "other")


def test_no_word_is_in_two_slots() -> None:
    """The object, which is doubtful between the topic's words and none, is none where the topic is sure."""
    first, last = torch.full((6, len(SLOTS)), -9.0), torch.full((6, len(SLOTS)), -9.0)
    slots = {name: number for number, name in enumerate(SLOTS)}
    for logits, at in ((first, 2), (last, 3)):
        logits[0] = 0.0  # [CLS]: nothing stands in the slot
        logits[at, slots["topic"]] = 9.0
        logits[at, slots["object"]] = 1.0
    first[1, slots["object"]] = last[4, slots["object"]] = 0.5  # a span around the topic
    (topic, no_topic), (object_, _) = (_spans(first, last, 6)[slots[name]] for name in ("topic", "object"))
    assert topic[:2] == (2, 3) and no_topic[:2] == (0, 0)
    assert object_[:2] == (0, 0) and object_.logarithm > math.log(0.1)
