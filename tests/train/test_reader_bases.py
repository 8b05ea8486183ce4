"""A reader on another encoder of transformers: it is trained, written to a folder, and read back without the base."""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from nscma_torch.core.errors import ConfigError, MissingDependencyError, ModelError, ModelNotFoundError
from nscma_torch.reading.minilm_encoder import MiniLMEncoder
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage, Packer, padded_rows
from nscma_torch.reading.reader_model import ReaderModel
from nscma_torch.reading.transformers_encoder import TransformersEncoder
from train.reader.dialogue_examples import dialogue_examples
from train.reader.dialogue_text import read_dialogues
from train.reader.examples import Example
from train.reader.recipe import Recipe
from train.reader.train_reader import Training

# transformers' DeBERTa is compiled by it when it is imported
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
TEXT = "we painted the shed green on monday"
DIALOGUE = f"""== c-1 | friends
-- 2025-03-02 18:40
1 Maya: {TEXT}
2 Tom: and the fence?
3 Maya: the fence stays brown
? single What colour is the shed? | green | 1 | stale: brown
? single What colour is the fence? | brown | 3 | stale: green
= holds 1 | the shed | is | green
"""
SIZES = {
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "pad_token_id": 0,
    "hidden_dropout_prob": 0.1,
}
KINDS: dict[str, dict[str, Any]] = {
    "bert": {"max_position_embeddings": 140},
    "modernbert": {"max_position_embeddings": 1024, "cls_token_id": 2, "sep_token_id": 3, "mlp_dropout": 0.1},
    "deberta-v2": {
        "max_position_embeddings": 512,
        "relative_attention": True,
        "position_biased_input": False,
        "pos_att_type": ["p2c", "c2p"],
    },
}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def small_tokenizer(kind: str) -> Tokenizer:
    """Of the sort that the kind's published models have: WordPiece, bytes, or Unigram with joined spaces."""
    model, before, trainer = {
        "bert": (models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer(), trainers.WordPieceTrainer),
        "modernbert": (models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=False), trainers.BpeTrainer),
        "deberta-v2": (models.Unigram(), pre_tokenizers.Metaspace(), trainers.UnigramTrainer),
    }[kind]
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = before
    if kind == "bert":
        tokenizer.normalizer = normalizers.BertNormalizer()
    if kind == "modernbert":
        tokenizer.decoder = decoders.ByteLevel()
    options = {"unk_token": "[UNK]"} if kind == "deberta-v2" else {}
    tokenizer.train_from_iterator([DIALOGUE.lower()] * 4, trainer(vocab_size=300, special_tokens=SPECIAL, **options))
    ends = [(token, SPECIAL.index(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return tokenizer


def make_base(folder: Path, kind: str, **sizes: Any) -> Path:
    """A small random encoder with its tokenizer, as `hf download` would leave it."""
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    tokenizer = small_tokenizer(kind)
    words = {"vocab_size": tokenizer.get_vocab_size()}
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model(kind, **words, **SIZES, **KINDS[kind], **sizes)).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=list(KINDS))
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return make_base(tmp_path_factory.mktemp("base"), request.param)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("bert"), "bert")


def recipe(base: Path | str, **keys: Any) -> Recipe:
    stage = {
        "learning_rate": 3e-3,
        "warmup": 2,
        "stop_after": 30,
        "public_share": 0.0,
        "dialogue_epochs": 1,
        "exchange_epochs": 0,
        "unlabelled_epochs": 0,
    }
    return Recipe.model_validate(
        {
            "base": str(base),
            "start": "",
            "teacher": "",
            "seed": 1,
            "max_tokens": [48],
            "most_rows": 4,
            "batch_tokens": 256,
            "bfloat16": False,
            "weight_decay": 0.0,
            "clip": 1.0,
            "ema": 0.9,
            "log_every": 5,
            "save_every": 4,
            "weights": dict.fromkeys(("span", "evidence", "answerable", "kind", "stance", "change", "teacher"), 1.0),
            "stages": [{"name": "one", **stage}],
            **keys,
        }
    )


def examples_in(folder: Path) -> list[Example]:
    path = folder / "one.txt"
    path.write_text(DIALOGUE, encoding="utf-8")
    rng = random.Random(0)
    (dialogue,) = read_dialogues(path)
    return [example for _ in range(40) for example in dialogue_examples(dialogue, rng)]


def trained(base: Path, out: Path) -> Training:
    training = Training(recipe(base), torch.device("cpu"), out)
    training.run(examples_in(out.parent))
    return training


PASSAGES = [InputPassage(TEXT, "Maya"), InputPassage("the fence stays brown", "Maya")]


def test_a_reader_is_trained_and_read_back_from_its_folder_alone(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = trained(base, tmp_path / "whole")
    steps, done = Training._step, 0

    def stop(self: Training, *args: object) -> dict[str, float]:
        nonlocal done
        done += 1
        if done == 6:
            raise KeyboardInterrupt
        return steps(self, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", stop)
        with pytest.raises(KeyboardInterrupt):
            trained(base, tmp_path / "parts")
    trained(base, tmp_path / "parts")
    whole, parts = (load_file(tmp_path / name / "reader.safetensors") for name in ("whole", "parts"))
    assert whole.keys() == parts.keys() and all(torch.equal(whole[name], parts[name]) for name in whole)
    assert not any("pooler" in name for name in whole), "nothing reads it"
    lines = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["span"] < 0.7 * lines[0]["span"], "it learns"

    moved = base.rename(tmp_path / "elsewhere")  # the folder of the reader is enough
    try:
        loaded = Reader.from_pretrained(tmp_path / "whole")
    finally:
        moved.rename(base)
    stored = {name: weight.to(torch.bfloat16) for name, weight in training.mean_state().items()}
    training.model.load(stored, tmp_path)
    asked = ["Maya asks: What colour is the fence?", "Who?"], [PASSAGES, PASSAGES[:1]]
    assert loaded.read(*asked) == Reader(training.model).read(*asked)
    assert loaded.stances(["the shed is green"], [PASSAGES]).shape == (1, 8)


def test_rows_do_not_change_by_what_they_are_padded_beside(base: Path) -> None:
    model = ReaderModel(TransformersEncoder.from_base(str(base))).eval()
    packer = Packer(model.encoder.tokenizer, model.encoder.max_tokens)
    rows = [row for passages in (PASSAGES, PASSAGES[:1]) for row in packer.rows("what colour?", passages)]
    assert len(rows) == 2 and len(rows[0].ids) > len(rows[1].ids)
    with torch.no_grad():
        together, alone = model(*padded_rows(rows, 32)), model(*padded_rows(rows[1:]))
    for part, own in zip(together, alone, strict=True):
        seen = part[1, : len(rows[1].ids)] if part.shape[1:] == together.first.shape[1:] else part[1]
        assert torch.allclose(seen, own[0], atol=1e-5)


def test_it_tells_passage_from_question(bert: Path) -> None:
    model = ReaderModel(TransformersEncoder.from_base(str(bert))).eval()
    ids, mask, passage = padded_rows(Packer(model.encoder.tokenizer, 128).rows("what?", PASSAGES))
    with torch.no_grad():
        assert torch.equal(model(ids, mask, passage).first, model(ids, mask, passage & False).first), "at first"
        model.trained()["passage"].copy_(
            torch.linspace(-1, 1, model.encoder.dimension)
        )  # a constant is normalised away
        assert not torch.allclose(model(ids, mask, passage).first, model(ids, mask, passage & False).first)


def test_spans_hold_no_space_and_are_the_characters(base: Path) -> None:
    tokenizer = TransformersEncoder.from_base(str(base)).tokenizer
    text = f"  {TEXT},\n\n  and  the fence"
    (row,) = Packer(tokenizer, 128).rows("what?", [InputPassage(text, "Maya")])
    assert row.ids[0] == SPECIAL.index("[CLS]") and [row.ids[end] for end in row.ends] == [SPECIAL.index("[SEP]")]
    for word in ("we", "green", "shed green", "monday", "fence"):
        start = text.index(word)
        tokens = row.tokens_of(0, start, start + len(word))
        assert tokens is not None
        piece = row.characters_of(*tokens)
        assert text[piece.start : piece.end].strip(",") == word
    for piece in row.pieces:
        if piece is not None and piece.of_text:
            assert text[piece.start : piece.end].strip() == text[piece.start : piece.end] != ""


def test_rows_are_as_long_as_the_encoder_reads(bert: Path, tmp_path: Path) -> None:
    assert TransformersEncoder.from_base(str(bert)).max_tokens == 128, "140, of which padding uses a multiple of 32"
    with pytest.raises(ConfigError, match=r"max_tokens has 192, and .* reads 128"):
        Training(recipe(bert, max_tokens=[48, 192]), torch.device("cpu"), tmp_path / "out")
    reader = Reader(ReaderModel(TransformersEncoder.from_base(str(bert))).bfloat16())
    (read,) = reader.read(["why? " * 200], [[InputPassage("word " * 400, "Maya " * 40)]])
    assert len(read.evidence) == 1


def test_roberta_numbers_positions_from_beyond_the_padding(bert: Path) -> None:
    from transformers import RobertaConfig, RobertaModel

    tokenizer = TransformersEncoder.from_base(str(bert)).tokenizer
    for positions, longest in ((161, 128), (162, 160)):
        sizes = {**SIZES, "vocab_size": 300, "max_position_embeddings": positions, "pad_token_id": 1}
        encoder = TransformersEncoder(RobertaModel(RobertaConfig(**sizes)).eval(), tokenizer, bert)
        assert encoder.max_tokens == longest
        ids = torch.full((1, longest), 5)
        assert torch.isfinite(encoder(ids, ids > 0, ids > 0)).all()


def test_minilm_writes_what_it_always_wrote() -> None:
    layer = [
        f"{name}.{part}"
        for name in ("qkv", "out", "attention_norm", "up", "down", "output_norm")
        for part in ("weight", "bias")
    ]
    heads = [
        f"{name}.{part}"
        for name in ("token", "pool", "answerable", "kind", "stance", "change")
        for part in ("weight", "bias")
    ]
    names = ["passage", *(f"upper.{i}.{name}" for i in range(4) for name in layer), *heads]
    assert list(ReaderModel(MiniLMEncoder()).trained()) == names


def test_out_is_of_the_sort_that_the_base_needs(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"is a folder, and .*file is not"):
        Training(recipe(bert), torch.device("cpu"), tmp_path / "file")
    with pytest.raises(ConfigError, match="is a file, and"):
        Training(recipe("minilm"), torch.device("cpu"), tmp_path)


@pytest.fixture(scope="module")
def written(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader that learnt nothing, in its folder."""
    folder = tmp_path_factory.mktemp("readers") / "reader"
    model = ReaderModel(TransformersEncoder.from_base(str(bert)))
    model.encoder.write({name: p.detach() for name, p in model.trained().items()}, folder)
    return folder


def test_without_transformers_the_error_names_the_extra(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingDependencyError, match=r"an encoder of transformers .* pip install 'nscma-torch\[hf\]'"):
        Reader.from_pretrained(written)


def test_a_folder_that_is_no_reader_is_refused(written: Path, bert: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no reader\.safetensors in .*: it is not a reader"):
        Reader.from_pretrained(bert)
    folder = shutil.copytree(written, tmp_path / "reader")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot be loaded as an encoder"):
        Reader.from_pretrained(folder)
    shutil.copy(written / "config.json", folder)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="has no valid tokenizer"):
        Reader.from_pretrained(folder)
    shutil.copy(written / "tokenizer.json", folder)
    (folder / "reader.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="does not contain a reader"):
        Reader.from_pretrained(folder)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"hidden_size": 64}, "was trained on another encoder: .* train it again"),
        ({"num_hidden_layers": 3}, "not a reader of this version and encoder: model.encoder.layer.2"),
        ({"vocab_size": 20}, "they belong to different models"),
        ({"max_position_embeddings": 100}, "100 token positions"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    written: Path, tmp_path: Path, changed: dict[str, int], told: str
) -> None:
    folder = shutil.copytree(written, tmp_path / "reader")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | changed), encoding="utf-8")
    with pytest.raises(ModelError, match=told):
        Reader.from_pretrained(folder)


def test_a_base_that_cannot_be_used_is_refused(bert: Path, tmp_path: Path) -> None:
    from transformers import BartConfig, BartModel, CanineTokenizer

    with pytest.raises(ModelNotFoundError, match="hf download nobody/nothing"):
        TransformersEncoder.from_base("nobody/nothing")
    slow = shutil.copytree(bert, tmp_path / "slow")
    (slow / "tokenizer.json").unlink()
    CanineTokenizer().save_pretrained(slow)
    with pytest.raises(ModelError, match="has no fast version"):
        TransformersEncoder.from_base(str(slow))
    partly = shutil.copytree(bert, tmp_path / "partly")
    state = load_file(partly / "model.safetensors")
    kept = {name: value for name, value in state.items() if "layer.1" not in name and "pooler" not in name}
    save_file(kept, partly / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks weights of its model: encoder\.layer\.1.*\(16 in all\)"):
        TransformersEncoder.from_base(str(partly))
    both = shutil.copytree(bert, tmp_path / "both")
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    BartModel(BartConfig(vocab_size=300, d_model=16, encoder_ffn_dim=16, decoder_ffn_dim=16, **sizes)).save_pretrained(
        both
    )
    with pytest.raises(ModelError, match="has a decoder as well"):
        TransformersEncoder.from_base(str(both))


def test_a_tokenizer_without_ends_is_refused() -> None:
    tokenizer = small_tokenizer("bert")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 3)])
    with pytest.raises(ModelError, match="puts 1 around it"):
        Packer(tokenizer, 128)
