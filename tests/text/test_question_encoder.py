"""Questions of a search are encoded with trained updates; texts stay those of the published encoder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.core.protocols import Embedder
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from nscma_torch.text.embedders.minilm import MiniLM, bundled_folder
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder
from nscma_torch.text.embedders.question_encoder import (
    add_trained_updates,
    question_embedder,
    updates,
    with_updates,
)

QUESTION = "Who looks after my teeth?"
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.fixture(scope="module")
def trained(embedder: MiniLMEmbedder) -> Embedder:
    found = question_embedder(embedder, EmbedderConfig(questions="trained", dtype="float32"), CPU)
    assert found is not None
    return found


@pytest.fixture
def published() -> MiniLM:
    return MiniLM.from_checkpoint(bundled_folder() / "model.safetensors")


def test_a_question_moves_towards_an_answer_in_other_words(embedder: MiniLMEmbedder, trained: Embedder) -> None:
    said = embedder.embed(
        ["dr Quist did the root canal, i am numb", "my gums? i look after them myself, teeth and all"]
    )
    before, after = said @ embedder.embed_query(QUESTION), said @ trained.embed_query(QUESTION)
    assert after[0] - after[1] > before[0] - before[1] + 0.02
    assert trained.embed_query(QUESTION).norm() == pytest.approx(1, abs=1e-5)


def test_vectors_of_the_two_are_told_apart(embedder: MiniLMEmbedder, trained: Embedder) -> None:
    assert trained.fingerprint != embedder.fingerprint
    assert (
        question_embedder(embedder, EmbedderConfig(questions="trained", dtype="float32"), CPU) is trained
    )  # loaded once


def test_other_embedders_and_the_plain_setting_have_none(embedder: MiniLMEmbedder) -> None:
    assert question_embedder(embedder, EmbedderConfig(), CPU) is None
    assert question_embedder(HashEmbedder(), EmbedderConfig(questions="trained"), CPU) is None


def test_bfloat16_updates_are_added_before_rounding(trained: Embedder) -> None:
    rounded = MiniLMEmbedder(dtype=torch.bfloat16, change=add_trained_updates).embed_query(QUESTION)
    assert torch.dot(rounded, trained.embed_query(QUESTION)) > 0.999


def test_new_updates_change_nothing_and_share_the_tables(published: MiniLM) -> None:
    copy = with_updates(published, rank=2)
    assert copy.word is published.word and copy.layers is not published.layers
    ids, mask = torch.tensor([[101, 2040, 3504, 102]]), torch.ones(1, 4, dtype=torch.bool)
    assert torch.allclose(copy(ids, mask), published(ids, mask), atol=1e-6)
    for value in updates(copy).values():
        value.data.fill_(0.1)
    assert not torch.allclose(copy(ids, mask), published(ids, mask), atol=1e-2)


def test_added_updates_equal_those_that_were_trained(published: MiniLM, tmp_path: Path) -> None:
    copy, file = with_updates(published, rank=2), tmp_path / "questions.safetensors"
    for value in updates(copy).values():
        value.data.uniform_(-0.1, 0.1)
    save_file({name: value.detach().contiguous() for name, value in updates(copy).items()}, file)
    ids, mask = torch.tensor([[101, 2040, 3504, 102]]), torch.ones(1, 4, dtype=torch.bool)
    expected = copy(ids, mask)
    add_trained_updates(published, file)
    torch.testing.assert_close(published(ids, mask), expected, rtol=0, atol=1e-5)


def test_updates_of_another_encoder_are_refused(published: MiniLM, tmp_path: Path) -> None:
    file = tmp_path / "questions.safetensors"
    with pytest.raises(ModelNotFoundError, match="install nscma-torch again"):
        add_trained_updates(published, file)
    weights = {name: value.detach().contiguous() for name, value in updates(with_updates(published, 2)).items()}
    for wrong in (
        {name: value for name, value in weights.items() if name != "layers.0.qkv.a"},
        {**weights, "layers.0.qkv.a": torch.zeros(2, 7)},
    ):
        save_file(wrong, file)
        with pytest.raises(ModelError, match="another encoder"):
            add_trained_updates(published, file)
