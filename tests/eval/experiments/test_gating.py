"""The gating curve: who is deferred first, what is kept, and how a signal is judged."""

from __future__ import annotations

import pytest
import torch

from eval.experiments.gate.gating import LAMBDAS, SIGNALS, Heard, Talk, curve, decide, hear
from nscma_torch.core.config import GateConfig, GateWeightsConfig
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.salience_head import SalienceHead
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

TALK = Talk("odd", ["aaaa", "bb", "cccc", "dd", "eeee"], [False, True, False, False, True])


def heard(talk: Talk) -> Heard:
    return Heard(talk, [], {}, [], torch.eye(len(talk.texts)))


def test_a_perfect_signal_keeps_all_until_only_needed_ones_are_left() -> None:
    found = curve(heard(TALK), [0.0, 1.0, 0.0, 0.0, 1.0], [0.0, 0.6, 0.8, 1.0])
    assert found is not None
    assert found.auc == 1.0
    assert found.kept == [1.0, 1.0, 0.5, 0.0]
    assert found.bytes == [0.0, 10 / 16, 14 / 16, 1.0]


def test_of_equal_scores_the_later_message_goes_first() -> None:
    found = curve(heard(TALK), [0.0] * 5, [0.2, 0.8])
    assert found is not None
    assert found.auc == 0.5
    assert found.kept == [0.5, 0.0]


def test_a_talk_of_which_all_or_nothing_is_needed_says_nothing() -> None:
    for needed in ([True] * 5, [False] * 5):
        assert curve(heard(Talk("odd", TALK.texts, needed)), [0.0] * 5, [0.5]) is None


def test_every_signal_scores_every_message(surprise_model: ByteSurpriseModel) -> None:
    texts = ["My sister Ana lives in Oslo since 2019.", "ok", "My sister Ana lives in Oslo since 2019.", "lol " * 400]
    embedder = HashEmbedder()
    head = SalienceHead(embedder.dimension, embedder.fingerprint)
    own = hear(Talk("even", texts, [True, False, False, False]), surprise_model, embedder, head)
    scores = {name: score(own) for name, score in SIGNALS.items()}
    assert {len(some) for some in scores.values()} == {len(texts)}
    assert scores["composition"][0] > max(scores["composition"][1:3]), "what was said before is not needed again"
    assert scores["embedding novelty"][2] < 1e-5 < scores["embedding novelty"][1]
    assert scores["gradient of a NeuralMemory"][2] < scores["gradient of a NeuralMemory"][0]
    assert scores["zlib given history"][2] < scores["zlib given history"][0]
    assert own.learned == head(own.vectors).tolist()
    terms = [made.parts["learned"] / GateWeightsConfig().learned for made in own.decisions["composition"]]
    assert terms == pytest.approx(head.log_odds(own.vectors))
    deferred = [
        sum(not made.write for made in decide(own.observations, GateConfig(rule="paper", lam=lam, warmup=1)))
        for lam in LAMBDAS
    ]
    assert deferred == sorted(deferred), "a higher lambda defers no less"
