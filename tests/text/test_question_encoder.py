"""Questions are encoded with trained updates; texts stay those of the published encoder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.text.embedders.embedder import load_embedder
from nscma_torch.text.embedders.minilm import MiniLM, bundled_folder
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder
from nscma_torch.text.embedders.query_vector import query_vector, text_vector
from nscma_torch.text.embedders.question_encoder import question_encoder, updates, with_updates

QUESTION = "Who looks after my teeth?"


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.fixture(scope="module")
def published() -> MiniLM:
    return MiniLM.from_checkpoint(bundled_folder() / "model.safetensors")


def test_a_question_moves_towards_an_answer_in_other_words(embedder: MiniLMEmbedder) -> None:
    said = embedder.embed(
        ["dr Quist did the root canal, i am numb", "my gums? i look after them myself, teeth and all"]
    )
    plain, trained = said @ embedder.embed([QUESTION])[0], said @ embedder.embed_query(QUESTION)
    assert trained[0] - trained[1] > plain[0] - plain[1] + 0.02
    assert embedder.embed_query(QUESTION).norm() == pytest.approx(1, abs=1e-5)


def test_a_configuration_can_leave_the_updates_out(embedder: MiniLMEmbedder) -> None:
    plain = load_embedder(EmbedderConfig(questions="plain", dtype="float32"))
    text = embedder.embed([QUESTION])[0]
    assert torch.allclose(plain.embed_query(QUESTION), text, atol=1e-6)
    assert not torch.allclose(embedder.embed_query(QUESTION), text, atol=0.05)
    assert plain.fingerprint == embedder.fingerprint  # stored vectors are the same


def test_texts_that_are_compared_with_texts_use_no_updates(embedder: MiniLMEmbedder) -> None:
    assert torch.allclose(text_vector(embedder, QUESTION), embedder.embed([QUESTION])[0], atol=1e-6)
    assert torch.allclose(query_vector(embedder, QUESTION), embedder.embed_query(QUESTION), atol=1e-6)


def test_new_updates_change_nothing_and_share_the_tables(published: MiniLM) -> None:
    copy = with_updates(published, rank=2)
    assert copy.word is published.word and copy.layers is not published.layers
    ids, mask = torch.tensor([[101, 2040, 3504, 102]]), torch.ones(1, 4, dtype=torch.bool)
    assert torch.allclose(copy(ids, mask), published(ids, mask), atol=1e-6)
    next(iter(updates(copy).values())).data.fill_(1.0)
    for name, value in updates(copy).items():
        if name.endswith(".b"):
            value.data.fill_(0.1)
    assert not torch.allclose(copy(ids, mask), published(ids, mask), atol=1e-2)


def test_updates_of_another_encoder_are_refused(published: MiniLM, tmp_path: Path) -> None:
    file = tmp_path / "questions.safetensors"
    with pytest.raises(ModelNotFoundError, match="install nscma-torch again"):
        question_encoder(published, file)
    weights = {name: value.detach().contiguous() for name, value in updates(with_updates(published, 2)).items()}
    weights.pop("layers.0.qkv.a")
    save_file(weights, file, {"rank": "2"})
    with pytest.raises(ModelError, match="another encoder"):
        question_encoder(published, file)
