"""Peaks of surprise: equation 1 of EM-LLM, and sentences in bytes."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import torch

from nscma_torch.api.components import Components
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.measurement import nats_per_byte
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from nscma_torch.text.segmentation import LEAST_KNOWN, Segmentation, mean_surprise, surprise_peaks


@pytest.mark.parametrize("gamma", [-0.5, 0.0, 1.0])
@pytest.mark.parametrize("window", [2, 7, 100])
def test_peaks_are_above_mean_and_deviation_of_those_before(window: int, gamma: float) -> None:
    surprise = torch.rand(60, generator=torch.Generator().manual_seed(1))
    peaks = surprise_peaks(surprise, window, gamma)
    assert not peaks[:LEAST_KNOWN].any() and peaks.any()
    values = surprise.double().tolist()
    for i in range(LEAST_KNOWN, 60):
        last = values[max(0, i - window) : i]
        assert peaks[i].item() == (values[i] > statistics.fmean(last) + gamma * statistics.pstdev(last))


def test_constant_surprise_has_no_peak() -> None:
    assert not surprise_peaks(torch.full((50,), 0.7), 8, 0.0).any()
    assert surprise_peaks(torch.empty(0), 8, 0.0).shape == (0,)


def test_surprise_of_a_sentence_is_the_mean_over_its_bytes() -> None:
    text = "né. 中文。 ab"
    nats = torch.arange(len(text.encode()) + 1, dtype=torch.float32)
    means = mean_surprise(text, [(0, 3), (4, 7), (8, 10)], nats)
    assert means.tolist() == [1.5, 9.0, 15.5]
    assert mean_surprise(text, [], nats).tolist() == []
    with pytest.raises(InvalidInputError, match="at least 17"):
        mean_surprise(text, [(0, 10)], nats[:16])


def test_assembly_reads_a_text_by_itself(tmp_path, surprise_model: ByteSurpriseModel, embedder: HashEmbedder) -> None:
    """The bundled surprise model finds where one text ends and another begins, whatever the stream said before."""
    config = load_config({"chunker": {"strategy": "surprise", "max_tokens": 200}})
    indexer = Components(tmp_path / "s.db", config, embedder=embedder, surprise_model=surprise_model).indexer
    calm = "The ship sailed on the sea. The sea was calm and the ship sailed on. " * 8
    text = calm + "Zygotic quarks vexed Mbeki's jukebox: fjord 7!? " + calm
    ((first, second),) = ([item.chunk for item in own] for own in indexer.index([text], [False])[:1])
    again = indexer.index([text], [False])[0]
    assert [first, second] == [item.chunk for item in again]
    assert second.text.startswith("Zygotic")


def test_a_surprise_model_with_longer_tokens_cuts_too(
    tmp_path, light_token_surprise: Any, embedder: HashEmbedder
) -> None:
    config = load_config({"chunker": {"strategy": "surprise", "max_tokens": 200}})
    parts = Components(tmp_path / "s.db", config, embedder=embedder, surprise_model=light_token_surprise)
    text = "Das ist ein Satz. Noch ein Satz, länger. " * 30 + "这一句完全不同。 " + "Das ist ein Satz. " * 40
    (chunks,) = parts.indexer.index([text], [False])
    assert len(chunks) > 1
    assert "".join(chunk.chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")
    (nll,), (ends,) = (
        light_token_surprise.score([[text]], [None])[0].nll,
        light_token_surprise.score([[text]], [None])[0].ends,
    )
    assert nats_per_byte(nll, ends, len(text.encode()) + 1).sum().item() == pytest.approx(nll.sum().item(), rel=1e-5)


def test_segmentation_finds_the_sentence_that_begins() -> None:
    loud = Segmentation(lambda text: torch.tensor([float(c.isupper()) for c in text]), window=4)
    text = "ab. cd. ef. GH. ij."
    assert loud.starts(text, [(0, 3), (4, 7), (8, 11), (12, 15), (16, 19)]) == {12}
