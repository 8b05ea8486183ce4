"""Training of the types of memories: it learns, alike each time, and its sentences are in order."""

from __future__ import annotations

from pathlib import Path

import torch

from nscma_torch.reading.memory_types import CLASSES, MemoryTypes
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from train.records.train_types import cross_validated, fit, report, sentences_of

SENTENCES = Path("train/records/sentences")
CONFIG = {"c": 4.0, "folds": 5, "seed": 0}


def features() -> tuple[MemoryTypes, torch.Tensor, torch.Tensor]:
    embedder = HashEmbedder()
    texts, classes = sentences_of(SENTENCES)
    texts, classes = texts[::3], classes[::3]
    types = MemoryTypes(embedder.dimension, embedder.fingerprint)
    return types, types.features(texts, embedder.embed(texts)), classes


def test_every_sentence_has_one_class() -> None:
    texts, classes = sentences_of(SENTENCES)
    assert len(set(texts)) == len(texts) == len(classes)
    assert {path.stem for path in SENTENCES.glob("*.txt")} == set(CLASSES)
    assert min(classes.bincount(minlength=len(CLASSES)).tolist()) >= 75


def test_it_learns_to_the_minimum_and_alike_each_time() -> None:
    types, inputs, classes = features()
    fit(types, inputs, classes, 4.0)
    weights = types.layer.weight.detach().clone()
    assert (types(inputs).argmax(1) == classes).float().mean() > 0.9
    fit(types, inputs, classes, 4.0)
    assert torch.equal(types.layer.weight, weights)
    fit(types, inputs, classes, 0.01)
    assert types.layer.weight.norm() < weights.norm() / 4, "the penalty counts"


def test_cross_validation_judges_what_it_has_not_seen() -> None:
    types, inputs, classes = features()
    fit(types, inputs, classes, CONFIG["c"])
    seen = float((types(inputs).argmax(1) == classes).float().mean())
    found = cross_validated(types, inputs, classes, CONFIG)
    unseen = float((found == classes).float().mean())
    assert 0.3 < unseen < seen - 0.1
    assert report(classes, classes).startswith(f"{len(classes)} sentences: 100.0% right, 100.0% as types")
    problem, solved = CLASSES.index("problem"), CLASSES.index("solved")
    assert "0.0% right, 100.0% as types" in report(torch.tensor([problem]), torch.tensor([solved]))
