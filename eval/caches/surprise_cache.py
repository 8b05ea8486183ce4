"""A surprise model that keeps its scores, so that several memories that read the same stream are surprised once.

What a surprise model says of messages depends on its weights, the stream's state and the texts, and so do the keys; a
score comes back bit for bit. With each are kept the seconds that it took when it was made.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from eval.caches.cached_time import KeptTime
from eval.harness.machine import unfinished
from nscma_torch.core.protocols import StreamScore, SurpriseModel

_MEMORY = 512 << 20  # bytes
_DISK = 16 << 30


@dataclass(frozen=True)
class KeptScore:
    """`StreamScore` of consecutive messages, and the seconds that it took."""

    nll: list[Tensor]
    ends: list[Tensor] | None
    state: bytes
    seconds: float


class CachedSurpriseModel:
    """`SurpriseModel` that asks another one only for texts that it has not scored after the same state.

    Several processes may have the same folder.

    Args:
        surprise_model: makes the scores.
        folder: keeps them, a file each; None keeps them in memory alone.
        clock: gives the seconds.
        kept_time: hears what was spared.
        memory_bytes: of scores in memory; those used longest ago go first.
        disk_bytes: of scores in the folder above which this process writes no more.
    """

    def __init__(
        self,
        surprise_model: SurpriseModel,
        folder: Path | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
        kept_time: KeptTime | None = None,
        memory_bytes: int = _MEMORY,
        disk_bytes: int = _DISK,
    ) -> None:
        self._surprise_model = surprise_model
        self._clock = clock
        self._time = kept_time or KeptTime(clock)
        name = hashlib.sha256(surprise_model.fingerprint.encode()).hexdigest()[:16]
        self._folder = None if folder is None else folder / name
        self._scores: OrderedDict[str, bytes] = OrderedDict()
        self._memory_room = memory_bytes
        files = [] if self._folder is None else self._folder.glob("*/*.safetensors")
        self._disk_room = disk_bytes - sum(file.stat().st_size for file in files)

    @property
    def fingerprint(self) -> str:
        """The surprise model's."""
        return self._surprise_model.fingerprint

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[KeptScore]:
        """Scores of consecutive messages of each stream; the surprise model is asked for one stream at a time."""
        return [self._one(texts, state) for texts, state in zip(streams, states, strict=True)]

    def _one(self, texts: Sequence[str], state: bytes | None) -> KeptScore:
        key = self._key(texts, state)
        with self._time.timed() as timed:
            packed = self._found(key)
            kept = None if packed is None else _unpacked(packed)
            if kept is None:
                began = self._clock()
                (score,) = self._surprise_model.score([texts], [state])
                kept = _kept(score, self._clock() - began)
                self._keep(key, _packed(kept))
            timed.cold = kept.seconds
            return kept

    def _key(self, texts: Sequence[str], state: bytes | None) -> str:
        before = "none" if state is None else hashlib.sha256(state).hexdigest()
        return hashlib.sha256(json.dumps([self._surprise_model.fingerprint, before, *texts]).encode()).hexdigest()

    def _found(self, key: str) -> bytes | None:
        if key in self._scores:
            self._scores.move_to_end(key)
            return self._scores[key]
        if self._folder is None:
            return None
        try:
            packed = self._file(key).read_bytes()
        except FileNotFoundError:
            return None
        self._remember(key, packed)
        return packed

    def _keep(self, key: str, packed: bytes) -> None:
        self._remember(key, packed)
        if self._folder is None or len(packed) > self._disk_room:
            return
        self._disk_room -= len(packed)
        file = self._file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = unfinished(file)
        part.write_bytes(packed)
        part.replace(file)

    def _remember(self, key: str, packed: bytes) -> None:
        self._memory_room += len(self._scores.pop(key, b"")) - len(packed)
        self._scores[key] = packed
        while self._memory_room < 0:
            self._memory_room += len(self._scores.popitem(last=False)[1])

    def _file(self, key: str) -> Path:
        assert self._folder is not None, "asked for with a folder alone"
        return self._folder / key[:2] / f"{key}.safetensors"


def _kept(score: StreamScore, seconds: float) -> KeptScore:
    ends = None if score.ends is None else list(score.ends)
    return KeptScore(list(score.nll), ends, score.state, seconds)


def _packed(score: KeptScore) -> bytes:
    """Tensors that share nothing: safetensors refuses views of one storage."""
    named = {
        "nll": torch.cat([torch.empty(0), *score.nll]),
        "sizes": torch.tensor([len(nll) for nll in score.nll], dtype=torch.long),
        "state": torch.from_numpy(np.frombuffer(score.state, np.uint8).copy()),
        "seconds": torch.tensor(score.seconds, dtype=torch.float64),
    }
    if score.ends is not None:
        named["ends"] = torch.cat([torch.empty(0, dtype=torch.long), *score.ends])
    return save(named)


def _unpacked(packed: bytes) -> KeptScore | None:
    """The score; None for the rest of a file that a power cut took."""
    try:
        named = load(packed)
    except SafetensorError:
        return None
    sizes: list[int] = named["sizes"].tolist()
    ends = list(_split(named["ends"], sizes)) if "ends" in named else None
    state = named["state"].numpy().tobytes()
    return KeptScore(list(_split(named["nll"], sizes)), ends, state, float(named["seconds"]))


def _split(values: Tensor, sizes: Sequence[int]) -> Iterator[Tensor]:
    start = 0
    for size in sizes:
        yield values[start : start + size].clone()
        start += size
