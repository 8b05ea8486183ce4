"""Reranking by a cross-encoder, with one that is made here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import MissingDependencyError, ModelError, ModelNotFoundError
from nscma_torch.text.embedders.cross_encoder import CrossEncoder

NOW = datetime(2024, 9, 1, tzinfo=UTC)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "rome", "oslo", "likes", "who", "mia", "karl", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sentence_transformers")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    root = tmp_path_factory.mktemp("cross")
    (root / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, num_labels=1, initializer_range=1.0, **shape)
    BertForSequenceClassification(config).save_pretrained(root)
    BertTokenizerFast(str(root / "vocab.txt"), model_max_length=32).save_pretrained(root)
    return root


def test_scores_are_in_bounds_and_do_not_depend_on_the_batch(folder: Path) -> None:
    encoder = CrossEncoder(str(folder), "cpu")
    texts = ["mia likes tea.", "karl likes rome.", "oslo."]
    scores = encoder.score("who likes tea", texts)
    assert all(0 <= score <= 1 for score in scores) and len(set(scores)) == 3
    assert encoder.score("who likes tea", texts[:1]) == pytest.approx(scores[:1], abs=1e-5)
    assert encoder.score("who likes tea", []) == []


def test_the_rerank_strategy_takes_its_order(
    folder: Path, open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    memory = open_memory("cross.db", surprise_model=light_surprise, config={"retrieval": {"reranker": str(folder)}})
    for text in ("mia likes tea.", "karl likes rome.", "karl likes tea.", "oslo."):
        memory.add(text, user_id="ada", now=NOW)
    hits = memory.search("who likes tea", user_id="ada", strategy="rerank", explain=True, now=NOW)
    expected = CrossEncoder(str(folder), "cpu").score("who likes tea", [hit.text for hit in hits])
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all("relevance" in hit.parts for hit in hits)


def test_what_is_not_there_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelNotFoundError, match="hf download nobody/nothing"):
        CrossEncoder("nobody/nothing", "cpu")
    with pytest.raises(ModelError, match="not a cross-encoder"):
        CrossEncoder(str(tmp_path), "cpu")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r"nscma-torch\[hf\]"):
        CrossEncoder(str(folder), "cpu")
