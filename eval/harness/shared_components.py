"""What all systems of a run share in one process, made from the [memory] sections of its configuration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from eval.caches.cached_time import KeptTime
from eval.caches.embedding_cache import CachedEmbedder
from eval.caches.extraction_cache import ExtractionCache
from eval.caches.surprise_cache import CachedSurpriseModel
from eval.harness.contract import Passage, Reader, Shared
from eval.harness.machine import chip_name
from eval.harness.metered_engine import MeteredEngine
from eval.readers.embedded_reader import EmbeddedReader
from eval.readers.prompted_reader import PromptedReader
from nscma_kernels import native_dtype
from nscma_torch.api.surprise_models import load_surprise_model
from nscma_torch.core.config import Config, load_config
from nscma_torch.core.device import torch_device
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.text.embedders.embedder import load_embedder


@dataclass(frozen=True)
class Equipment:
    """What systems share, and what the run knows of it.

    Attributes:
        time: seconds that caches spared.
    """

    shared: Shared
    time: KeptTime
    embedder: CachedEmbedder

    @contextmanager
    def sample(self) -> Iterator[None]:
        """A block about one sample, through which is kept what its systems have in common."""
        with self.shared.at_hand.sample():
            try:
                yield
            finally:
                self.shared.reader.forget()

    def keep(self) -> None:
        """Save new vectors, and see those of other ranks."""
        self.embedder.save()


@contextmanager
def equipped(
    memory: Mapping[str, Any],
    *,
    device: str,
    seed: int,
    cache: Path | None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Equipment]:
    """Load the models and start the language engine, which is closed at the end: no sample is charged for that.

    On a CPU texts are embedded one at a time where `embedder.batch_size` is not configured: a vector then depends on
    its text alone, to the last bit, and so no result on which rank embedded what together with what.

    Args:
        memory: sections of a `nscma_torch.Config`; ConfigError where they are none.
        device: in place of theirs.
        cache: folder that keeps vectors and surprise for other runs and ranks; None keeps them in memory alone.
        clock: gives the seconds of what is kept.
    """
    on = torch_device(device)
    sections = _sections(memory, on)
    config = load_config(sections)
    kept = KeptTime(clock)
    folder = cache and cache / _numerics(config, on)
    plain = load_embedder(config.embedder, on)
    embedder = CachedEmbedder(plain, folder, clock=clock, kept_time=kept)
    plain_surprise = load_surprise_model(config.surprise, on)
    surprise_model = CachedSurpriseModel(plain_surprise, folder, clock=clock, kept_time=kept)
    chosen = choose_engine(config.llm, lambda: on)
    engine = None if chosen is None else MeteredEngine(chosen)
    extractions = ExtractionCache()
    local = EmbeddedReader(sections, embedder, kept, extractions)
    reader: Reader = local
    if engine is not None:
        reader = PromptedReader(engine, max_tokens=config.llm.max_tokens, temperature=config.llm.temperature)
    _warm_up(plain_surprise, local)
    try:
        if engine is not None:
            engine.count_tokens([])  # starts it
        yield Equipment(
            Shared(sections, embedder, surprise_model, engine, reader, seed, kept, extractions), kept, embedder
        )
    finally:
        local.forget()
        embedder.save()
        if engine is not None:
            engine.close()


def _warm_up(surprise_model: SurpriseModel, reader: EmbeddedReader) -> None:
    """Have everything imported, loaded and compiled that the first sample would else be charged for."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    said = Message("user", "Ann moved to Oslo. She likes it there.", now)
    surprise_model.score([[said.content]], [None])
    for question in ("Where does Ann live?", "What does she think of the fjords?"):
        reader.answer(question, [Passage(0, said, said.content)], options=(), now=now)
    reader.forget()


def _sections(memory: Mapping[str, Any], device: torch.device) -> Mapping[str, Any]:
    embedder = memory.get("embedder", {})
    if device.type == "cpu" and isinstance(embedder, Mapping):
        embedder = {"batch_size": 1, **embedder}
    return {**memory, "device": str(device), "embedder": embedder}


def _numerics(config: Config, device: torch.device) -> str:
    """Folder of what rounds alike and takes as long: fingerprints do not tell devices, precisions and batches apart."""
    auto = str(native_dtype(device)).removeprefix("torch.")
    dtypes = [auto if dtype == "auto" else dtype for dtype in (config.embedder.dtype, config.surprise.dtype)]
    chip = "".join(c if c.isalnum() else "_" for c in chip_name(device))
    how = [f"torch{torch.__version__}", f"threads{torch.get_num_threads()}", f"batch{config.embedder.batch_size}"]
    return "-".join([device.type, chip, *dtypes, *how])
