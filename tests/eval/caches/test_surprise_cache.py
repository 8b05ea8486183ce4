"""The cache of the surprise model gives what the surprise model gives, bit for bit, and asks it once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from eval.caches.cached_time import KeptTime
from eval.caches.surprise_cache import CachedSurpriseModel
from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EmptyTextError
from nscma_torch.core.protocols import StreamScore, SurpriseModel
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel

TALK = ["I moved to Lisbon.", "世界 again and again and again", "ok"]


class Asked:
    """Notes how many streams it scored."""

    def __init__(self, surprise_model: SurpriseModel) -> None:
        self._surprise_model = surprise_model
        self.fingerprint = surprise_model.fingerprint
        self.streams = 0

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Sequence[StreamScore]:
        self.streams += len(streams)
        return self._surprise_model.score(streams, states)


def same(one: StreamScore, other: StreamScore) -> bool:
    ends = (one.ends is None) == (other.ends is None)
    if one.ends is not None and other.ends is not None:
        ends = all(map(torch.equal, one.ends, other.ends)) and len(one.ends) == len(other.ends)
    nll = len(one.nll) == len(other.nll) and all(map(torch.equal, one.nll, other.nll))
    return ends and nll and one.state == other.state


@pytest.mark.parametrize("kept", [True, False])
def test_scores_are_the_surprise_model_bit_for_bit_and_each_stream_is_read_once(
    surprise_model: ByteSurpriseModel, light_token_surprise: SurpriseModel, tmp_path: Path, kept: bool
) -> None:
    for plain in (surprise_model, light_token_surprise):
        asked = Asked(plain)
        folder = tmp_path / "cache" if kept else None
        cached = CachedSurpriseModel(asked, folder)
        assert isinstance(cached, SurpriseModel)
        for repeat in (1, 2):
            first = cached.score([TALK, ["a"]], [None, None])
            assert all(map(same, first, plain.score([TALK, ["a"]], [None, None])))
            second = cached.score([["next"], []], [first[0].state, first[0].state])
            assert all(map(same, second, plain.score([["next"], []], [first[0].state] * 2)))
            assert asked.streams == 4, repeat
        cached.score([["next"]], [first[1].state])  # another state
        cached.score([[*TALK[:2]]], [None])  # another cut
        assert asked.streams == 6
        again = CachedSurpriseModel(asked, folder)
        assert same(again.score([TALK], [None])[0], first[0])
        assert asked.streams == (6 if kept else 7)


def test_what_the_surprise_model_refuses_is_refused_each_time(surprise_model: ByteSurpriseModel) -> None:
    cached = CachedSurpriseModel(surprise_model)
    for _ in range(2):
        with pytest.raises(EmptyTextError):
            cached.score([[""]], [None])


def test_a_damaged_file_is_scored_again(light_surprise: SurpriseModel, tmp_path: Path) -> None:
    first = CachedSurpriseModel(light_surprise, tmp_path).score([TALK], [None])[0]
    (file,) = tmp_path.rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:40])
    asked = Asked(light_surprise)
    assert same(CachedSurpriseModel(asked, tmp_path).score([TALK], [None])[0], first)
    assert asked.streams == 1
    assert same(CachedSurpriseModel(asked, tmp_path).score([TALK], [None])[0], first)
    assert asked.streams == 1


def test_memory_and_disk_are_bounded(light_surprise: SurpriseModel, tmp_path: Path) -> None:
    asked = Asked(light_surprise)
    cached = CachedSurpriseModel(asked, tmp_path, memory_bytes=2000, disk_bytes=3000)
    for _ in range(2):
        for i in range(20):
            cached.score([[f"message {i}"]], [None])
    files = list(tmp_path.rglob("*.safetensors"))
    assert 0 < sum(file.stat().st_size for file in files) <= 3000
    assert 20 < asked.streams < 40
    assert not list(tmp_path.rglob("*.part"))


def test_a_warm_cache_counts_what_the_surprise_model_took(light_surprise: SurpriseModel, tmp_path: Path) -> None:
    now = [0.0]

    class Slow(Asked):
        def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Sequence[StreamScore]:
            now[0] += 7.0
            return super().score(streams, states)

    for expected in (0.0, 7.0):  # cold, nothing is spared
        time = KeptTime(lambda: now[0])
        began = now[0]
        CachedSurpriseModel(Slow(light_surprise), tmp_path, clock=lambda: now[0], kept_time=time).score([TALK], [None])
        assert time.spared == expected
        assert now[0] - began + time.spared == 7.0


def test_a_memory_with_the_cache_is_a_memory_without(surprise_model: ByteSurpriseModel, tmp_path: Path) -> None:
    digests, asked = set(), Asked(surprise_model)
    cached = CachedSurpriseModel(asked)
    config = {"device": "cpu", "embedder": {"model": "hash"}}
    proxies: tuple[SurpriseModel, ...] = (surprise_model, cached, cached)
    for number, used in enumerate(proxies):
        with Memory(tmp_path / f"{number}.db", config=config, surprise_model=used) as memory:
            for text in TALK:
                memory.add(text, user_id="ada", timestamp="2026-05-01")
            digests.add(memory.digest())
    assert len(digests) == 1
    assert asked.streams == len(TALK)
