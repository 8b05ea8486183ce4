"""The cache gives what the embedder gives, and asks it once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from eval.caches.cached_time import KeptTime
from eval.caches.embedding_cache import CachedEmbedder
from nscma_torch.core.protocols import Embedder
from nscma_torch.text.embedders.hash_embedder import HashEmbedder


class Asked(HashEmbedder):
    """Notes what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        self.texts += texts
        return super().embed(texts)


def test_vectors_are_the_embedders_and_each_text_is_embedded_once() -> None:
    plain = Asked()
    cached = CachedEmbedder(plain)
    assert isinstance(cached, Embedder)
    texts = ["the cat sat", "a dog ran", "the cat sat"]
    assert torch.equal(cached.embed(texts), HashEmbedder().embed(texts))
    assert torch.equal(cached.embed(["a dog ran", "new words"]), HashEmbedder().embed(["a dog ran", "new words"]))
    assert plain.texts == ["the cat sat", "a dog ran", "new words"]
    assert torch.equal(cached.embed_query("a dog"), HashEmbedder().embed_query("a dog"))
    assert cached.embed([]).shape == (0, cached.dimension)


def test_a_query_and_a_text_of_the_same_words_are_kept_apart() -> None:
    class Prompted(Asked):
        def embed_query(self, text: str) -> torch.Tensor:
            return -HashEmbedder.embed(self, [text])[0]

    cached = CachedEmbedder(Prompted())
    assert torch.equal(cached.embed(["a dog"])[0], -cached.embed_query("a dog"))


def test_without_learning_only_known_texts_are_spared() -> None:
    plain = Asked()
    cached = CachedEmbedder(plain)
    cached.embed(["known"])
    cached.learning = False
    for _ in range(2):
        assert torch.equal(cached.embed(["known", "unknown"]), HashEmbedder().embed(["known", "unknown"]))
    assert plain.texts == ["known", "unknown", "unknown"]


def test_saved_vectors_are_found_by_the_next_program(tmp_path: Path) -> None:
    first = CachedEmbedder(HashEmbedder(), tmp_path / "cache")
    vectors = first.embed(["one text", "another"])
    first.save()
    plain = Asked()
    second = CachedEmbedder(plain, tmp_path / "cache")
    assert torch.equal(second.embed(["another", "one text"]), vectors.flip(0))
    assert plain.texts == []


class Ticking(Asked):
    """Takes a second for each character of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        self.now += sum(map(len, texts))
        return super().embed(texts)


def test_a_warm_cache_counts_what_each_text_took(tmp_path: Path) -> None:
    plain = Ticking()
    for expected, texts in ((0.0, ["four", "sixsix"]), (4.0, ["four", "five5"]), (15.0, ["sixsix", "five5", "four"])):
        time = KeptTime(lambda: plain.now)
        cached = CachedEmbedder(plain, tmp_path, clock=lambda: plain.now, kept_time=time)
        began = plain.now
        cached.embed(texts)
        cached.save()
        assert time.spared == expected
        assert plain.now - began + time.spared == sum(map(len, texts))
    cached.embed(["four", "four"])
    assert time.spared == 15 + 8


def test_processes_share_a_folder_and_see_what_the_others_saved(tmp_path: Path) -> None:
    one, other = Asked(), Asked()
    first, second = CachedEmbedder(one, tmp_path), CachedEmbedder(other, tmp_path)
    first.embed(["a text of the first"])
    second.embed(["a text of the second"])
    first.save()
    second.save()
    first.save()
    vectors = first.embed(["a text of the second", "a text of the first"])
    assert torch.equal(second.embed(["a text of the second", "a text of the first"]), vectors)
    assert (len(one.texts), len(other.texts)) == (1, 1)
    assert len(list(tmp_path.glob("*.vectors"))) == 2


def test_a_torn_or_damaged_record_is_embedded_again(tmp_path: Path) -> None:
    first = CachedEmbedder(HashEmbedder(), tmp_path)
    texts = ["one text", "another", "a third"]
    vectors = first.embed(texts)
    first.save()
    (file,) = tmp_path.glob("*.vectors")
    data = bytearray(file.read_bytes())
    data[100] ^= 1  # in the first vector
    file.write_bytes(data[:-10])
    plain = Asked()
    assert torch.equal(CachedEmbedder(plain, tmp_path).embed(texts), vectors)
    assert plain.texts == ["one text", "a third"]


def test_memory_and_disk_are_bounded(tmp_path: Path) -> None:
    plain = Asked()
    room = 4 * HashEmbedder().dimension * 5
    cached = CachedEmbedder(plain, tmp_path, memory_bytes=room, disk_bytes=room)
    texts = [f"text number {i}" for i in range(20)]
    expected = HashEmbedder().embed(texts)
    for _ in range(2):
        assert torch.equal(cached.embed(texts), expected)
        cached.save()
    assert 0 < sum(file.stat().st_size for file in tmp_path.iterdir()) <= room
    assert len(plain.texts) > 20
