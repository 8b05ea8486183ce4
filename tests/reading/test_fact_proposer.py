"""The proposer of facts: merged weights tell what trained ones did, and proposals stand where they may."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.reading.fact_proposer import FIRST, MOST_FACTS, FactProposer, Proposals
from nscma_torch.reading.fact_questions import object_question
from nscma_torch.reading.proposer_model import ProposerModel
from nscma_torch.reading.reader_input import InputPassage, Packer, padded_rows, target_tokens
from nscma_torch.reading.relation_model import RELATIONS
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder

NAMES = ["lives_in", "costs", "value"]
TURNS = [
    InputPassage("Where do you live now?", speaker="Ben", context=True),
    InputPassage("I moved to Porto", speaker="Ana"),
]


def schema(*names: str) -> Schema:
    bundled = load_relations()
    return bundled.model_copy(update={"relations": {name: bundled[name] for name in names}})


def some_model(*, eager: float = 0.0) -> ProposerModel:
    """A model with random changes, which proposes much where it is `eager`."""
    torch.manual_seed(0)
    model = ProposerModel(NAMES)
    with torch.no_grad():
        for parameter in model.trained().values():
            parameter.add_(torch.randn_like(parameter) * 0.02)
        model.bias.add_(eager)
    return model.eval()


def test_merged_layers_do_what_the_trained_ones_did() -> None:
    model = some_model()
    row = Packer(model.tokenizer, 64).rows("what is told?", TURNS)[0]
    ids, mask, _ = padded_rows([row])
    inputs = ids, mask, target_tokens([row], ids.shape[1])
    with torch.no_grad():
        trained = model.hidden(*inputs)
        model.merge()
        assert torch.allclose(model.hidden(*inputs), trained, atol=1e-5)
    published = ProposerModel(NAMES).hidden(*inputs)
    assert not torch.allclose(published, trained, atol=1e-2)


def test_a_proposer_is_written_and_read(tmp_path: Path) -> None:
    model = some_model(eager=6.0)
    weights = {name: p.detach().clone() for name, p in model.trained().items()}
    save_file(weights, tmp_path / "p", {RELATIONS: " ".join(NAMES)})
    (own,) = FactProposer(model, schema(*NAMES)).propose([TURNS])
    (read,) = FactProposer.from_pretrained(schema(*NAMES), tmp_path / "p").propose([TURNS])
    assert [(f.relation, f.object, f.subject.text) for f in own.facts] == [
        (f.relation, f.object, f.subject.text) for f in read.facts
    ]
    assert list(own.picks) == NAMES


def test_objects_stand_in_the_message_itself_and_of_one_relation_apart() -> None:
    (found,) = FactProposer(some_model(eager=6.0), schema(*NAMES)).propose([TURNS])
    assert 1 < len(found.facts) <= MOST_FACTS
    assert [f.placed for f in found.facts] == sorted((f.placed for f in found.facts), reverse=True)
    for fact in found.facts:
        assert fact.object.of_text and fact.object.passage == 1
        assert TURNS[1].text[fact.object.start : fact.object.end] == fact.object.text
        assert 0 <= fact.placed <= 1 and 0 <= fact.told <= 1
        assert sum(fact.stances) == pytest.approx(1, abs=1e-4)
        assert bool(fact.topic) == (fact.relation == "value")
        assert found.picks[fact.relation] >= FIRST
    for name in NAMES:
        own = sorted((f.object.start, f.object.end) for f in found.facts if f.relation == name)
        assert all(end <= start for (_, end), (start, _) in pairwise(own))


def test_of_two_likely_ends_of_an_object_the_nearer_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    model = some_model()
    moved = [InputPassage("I moved to Porto, then Lyon", speaker="Ana")]

    def objects(x: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:  # "Porto" begins one; it or "Lyon" ends it
        row = Packer(model.tokenizer, 64).rows("what is told?", moved)[0]
        found = torch.full((1, x.shape[1], 2, len(vectors)), -9.0)
        porto, lyon = (
            row.tokens_of(0, at, at + len(name), of_text=True)
            for name in ("Porto", "Lyon")
            for at in [moved[0].text.index(name)]
        )
        assert porto is not None and lyon is not None
        found[0, porto[0], 0], found[0, porto[1], 1], found[0, lyon[1], 1] = 3.0, 2.0, 2.3
        return found

    monkeypatch.setattr(model, "objects", objects)
    (found,) = FactProposer(model, schema(*NAMES)).propose([moved])
    assert {fact.object.text for fact in found.facts} == {"Porto"}


def test_nothing_is_proposed_where_nothing_is_likely() -> None:
    (found,) = FactProposer(some_model(eager=-20.0), schema(*NAMES)).propose([TURNS])
    assert found == Proposals((), found.picks) and max(found.picks.values()) < 1e-3


def test_only_relations_that_it_was_trained_on_are_proposed() -> None:
    proposer = FactProposer(some_model(eager=6.0), schema("owns", "costs"))
    assert proposer.relations == ["costs"]
    (found,) = proposer.propose([TURNS])
    (whole,) = FactProposer(some_model(eager=6.0), schema(*NAMES)).propose([TURNS])
    assert found.picks == pytest.approx({"costs": whole.picks["costs"]}, abs=1e-5)
    assert FactProposer(some_model(eager=6.0), schema("owns")).propose([TURNS]) == [Proposals((), {})]


def test_words_are_those_of_the_published_encoder() -> None:
    texts = [object_question(load_relations()[name]) for name in NAMES]
    model = some_model()
    before = {name: p.detach().clone() for name, p in model.trained().items()}
    published = MiniLMEmbedder().embed(texts)
    assert torch.allclose(model.words_of(texts), published, atol=1e-5)
    assert all(torch.equal(p, before[name]) for name, p in model.trained().items()), "its changes are as they were"


def test_what_is_no_proposer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"missing.*nothing"):
        FactProposer.from_pretrained(schema(*NAMES), tmp_path / "nothing")
    save_file({"bias": torch.zeros(3)}, tmp_path / "other", {RELATIONS: " ".join(NAMES)})
    with pytest.raises(ModelError, match="not a ProposerModel of this version"):
        FactProposer.from_pretrained(schema(*NAMES), tmp_path / "other")
    save_file({"bias": torch.zeros(3)}, tmp_path / "bare")
    with pytest.raises(ModelError, match="does not contain a proposer"):
        FactProposer.from_pretrained(schema(*NAMES), tmp_path / "bare")
