"""The reader's MPNet in plain PyTorch computes what transformers' computes, and is written as int8."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.errors import ConfigError, ModelError, ModelNotFoundError
from nscma_torch.reading.mpnet_encoder import DIMENSION, LAYERS, MPNetEncoder
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage, Packer, padded_rows
from nscma_torch.reading.reader_model import ReaderModel
from train.reader.examples import Example, Labelled, Span
from train.reader.recipe import Recipe
from train.reader.train_reader import Training, new_model

PASSAGES = [
    InputPassage("I moved to Porto in May", speaker="Ana"),
    InputPassage("the ferry to Barreiro takes twenty minutes", speaker="Tom"),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in the published form, with random weights."""
    from transformers import MPNetConfig, MPNetModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("mpnet")
    model = MPNetModel(
        MPNetConfig(num_hidden_layers=LAYERS, max_position_embeddings=514, layer_norm_eps=1e-5), add_pooling_layer=False
    )
    torch.nn.init.normal_(model.encoder.relative_attention_bias.weight)
    model.save_pretrained(folder)
    return folder


def test_it_computes_what_transformers_computes(published: Path) -> None:
    from transformers import MPNetModel

    encoder = MPNetEncoder.from_published(published).eval()
    theirs = MPNetModel.from_pretrained(published, add_pooling_layer=False, attn_implementation="eager").eval()
    long = Packer(encoder.tokenizer, 400).rows("Where does Ana live?", PASSAGES * 14)
    short = Packer(encoder.tokenizer, 64).rows("Who?", PASSAGES[:1])
    rows = padded_rows([*long, *short])
    ids = rows.ids + 4  # MPNet's own tokens come before BERT's
    for token, place in (("[CLS]", 0), ("[SEP]", 2)):
        ids[rows.ids == encoder.tokenizer.token_to_id(token)] = place
    ids[~rows.mask] = 1
    with torch.no_grad():
        own = encoder(rows.ids, rows.mask, rows.passage)
        expected = theirs(input_ids=ids, attention_mask=rows.mask.long()).last_hidden_state
    assert own.shape[1] > 256, "distances beyond the last bucket are among them"
    torch.testing.assert_close(own[rows.mask], expected[rows.mask], atol=2e-5, rtol=1e-4)


def test_a_reader_on_it_is_one_file_of_int8(published: Path, tmp_path: Path) -> None:
    model = ReaderModel(MPNetEncoder.from_published(published)).eval()
    file = tmp_path / "reader.safetensors"
    model.encoder.write({name: p.detach() for name, p in model.trained().items()}, file)
    assert file.stat().st_size < 1.05 * sum(p.numel() for p in model.parameters())
    loaded = Reader.from_pretrained(file).model
    assert isinstance(loaded.encoder, MPNetEncoder)
    read = dict(loaded.named_parameters())
    for name, own in model.named_parameters():
        assert (read[name] - own).abs().max() <= own.abs().max() / 254 + 1e-6, name


def test_the_passages_with_evidence_decide_the_kind_of_answer(published: Path) -> None:
    model = ReaderModel(MPNetEncoder.from_published(published)).eval()
    x = torch.randn(1, 6, DIMENSION)
    separator = model.encoder.separator
    ids = torch.tensor([[7, separator, 8, separator, 9, separator]])
    passage = torch.tensor([[False, False, True, True, True, True]])
    evidence = torch.tensor([[50.0, 50.0, 50.0, 0.0, 50.0, 20.0]])
    pooled = model._of_evidence(x, evidence, ids, passage)
    torch.testing.assert_close(pooled, x[:, 5], atol=1e-5, rtol=0)
    alone = model._of_evidence(x[:, :2], evidence[:, :2], ids[:, :2], passage[:, :2])
    torch.testing.assert_close(alone, x[:, 0])


def test_training_begins_from_the_published_layers(published: Path, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "configs/train/reader.toml").read_text(encoding="utf-8")
    recipe = Recipe.model_validate(tomllib.loads(text) | {"start": str(published)})
    model = new_model(recipe, tmp_path / "reader.safetensors")
    expected = MPNetEncoder.from_published(published)
    assert torch.equal(model.encoder.get_parameter("layers.5.down.weight"), expected.layers[5].down.weight)
    with pytest.raises(ConfigError, match="is a file, and"):
        new_model(recipe, tmp_path)
    with pytest.raises(ConfigError, match="needs start: the folder of all-mpnet-base-v2, or a file of weights"):
        new_model(recipe.model_copy(update={"start": ""}), tmp_path / "reader.safetensors")
    with pytest.raises(ModelNotFoundError, match="download all-mpnet-base-v2"):
        new_model(recipe.model_copy(update={"start": str(tmp_path)}), tmp_path / "reader.safetensors")


def test_training_goes_on_from_a_file_of_int8(published: Path, tmp_path: Path) -> None:
    first = ReaderModel(MPNetEncoder.from_published(published))
    file = tmp_path / "first.safetensors"
    first.encoder.write({name: p.detach() for name, p in first.trained().items()}, file)
    text = (Path(__file__).parents[2] / "configs/train/reader.toml").read_text(encoding="utf-8")
    recipe = Recipe.model_validate(tomllib.loads(text) | {"start": str(file)})
    model = new_model(recipe, tmp_path / "second.safetensors")
    assert torch.allclose(model.kind.weight, first.kind.weight)
    words = (own.encoder.get_parameter("word.weight") for own in (model, first))
    torch.testing.assert_close(*words, atol=1e-3, rtol=0)


def test_a_stage_leaves_its_frozen_layers_as_they_are(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr(Training, "_save", lambda _: None)  # a gigabyte
    text = (Path(__file__).parents[2] / "configs/train/reader.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text) | {"start": str(published)}
    table["stages"] = [table["stages"][0] | {"frozen_layers": 2}, table["stages"][0]]
    training = Training(Recipe.model_validate(table), torch.device("cpu"), tmp_path / "reader.safetensors")
    right = Labelled(PASSAGES[0], (Span(11, 16),), True)
    before = {name: p.detach().clone() for name, p in training.model.named_parameters()}

    def changed() -> set[str]:
        return {name for name, p in training.model.named_parameters() if not torch.equal(p, before[name])}

    training.run([Example("s", "read", "Where does Ana live?", (right,), kind=0)] * 40)
    upper = changed()
    assert "encoder.layers.2.down.weight" in upper and "token.weight" in upper
    assert not any(name.startswith(("encoder.layers.0.", "encoder.layers.1.", "encoder.word.")) for name in upper)
    training.run([Example("s", "read", "Where does Ana live?", (right,), kind=0)] * 40)
    assert {"encoder.layers.0.down.weight", "encoder.word.weight"} <= changed()


def test_a_file_that_names_another_encoder_is_refused(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / "r.safetensors", metadata={"encoder": "larger"})
    with pytest.raises(ModelError, match="its encoder is 'larger'; known are minilm, mpnet"):
        Reader.from_pretrained(tmp_path / "r.safetensors")
