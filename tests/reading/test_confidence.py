"""What `confidence` makes of a reading; the weights are measured by eval.experiments.reading.calibration."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from nscma_torch.reading.confidence import ANSWERABLE, CORRECT, StateLayer, bundled_layer, confidence, features_of
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS
from nscma_torch.reading.short_answer import ShortAnswer

PASSAGES = [InputPassage("the rent is 900", "Ana", rank=3), InputPassage("now 950", "Ana", rank=1)]


def read(kind: str = "span", share: float = 0.6) -> ReadResult:
    spans = (ReadSpan("950", 1, 4, 7, True, share), ReadSpan("900", 0, 12, 15, True, 0.2))
    kinds = tuple(0.9 if name == kind else 0.02 for name in KINDS)
    return ReadResult(spans, 0.9, (0.3, 0.8), kinds)


def test_the_features_are_those_of_the_answer() -> None:
    found = ShortAnswer("900", 0, "span", "read")
    own = features_of(read(), found, PASSAGES, 0.25)
    assert own.keys() == CORRECT.keys() | ANSWERABLE.keys()
    assert own["answerable"] == pytest.approx(math.log(9)) and own["kind"] == pytest.approx(math.log(9))
    assert own["evidence"] == pytest.approx(math.log(0.3 / 0.7)), "of the passage that holds the answer"
    assert own["lead"] == pytest.approx(math.log(4) - math.log(0.3 / 0.7))
    assert own["share"] == pytest.approx(math.log(0.6)) and own["rival"] == pytest.approx(math.log(0.2))
    assert own["others"] == 0.25 and own["rank"] == pytest.approx(math.log(4))
    verdict = features_of(read("yes"), ShortAnswer("yes", 1, "yes", "read"), PASSAGES, 0.0)
    assert (verdict["verdict"], verdict["yes"]) == (1, 1) and verdict["share"] == verdict["words"] == 0


def test_where_nothing_is_read_there_are_features_too() -> None:
    nothing = replace(read(), spans=(), evidence=())
    own = features_of(nothing, None, [], 0.0)
    assert all(math.isfinite(value) for value in own.values())


def test_the_weights_are_of_the_features_and_grow_with_what_speaks_for_an_answer() -> None:
    found = ShortAnswer("950", 1, "span", "read")
    for weights in (CORRECT, ANSWERABLE):
        sure, unsure = (
            confidence(features_of(own, found, PASSAGES, 0.0), weights)
            for own in (read(share=0.9), replace(read(share=0.3), answerable=0.1, evidence=(0.3, 0.1)))
        )
        assert 0 < unsure < sure < 1


def test_hidden_states_count_where_the_reader_gives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = StateLayer(2)
    torch.nn.init.constant_(layer.weight, -3.0)
    torch.nn.init.zeros_(layer.bias)
    monkeypatch.setattr("nscma_torch.reading.confidence.bundled_layer", lambda: layer)
    plain, known = (features_of(own, None, PASSAGES, 0.0) for own in (read(), replace(read(), summary=torch.ones(2))))
    assert (plain["states"], known["states"]) == (0.0, -6.0)
    assert confidence(known, ANSWERABLE) < confidence(plain, ANSWERABLE)
    assert confidence(known, CORRECT) == confidence(plain, CORRECT)


def test_the_bundled_layer_is_of_the_bundled_reader() -> None:
    (own,) = Reader.from_pretrained().read(["Where does Ana live?"], [[InputPassage("I moved to Porto", "Ana")]])
    assert own.summary is not None and own.summary.shape == (bundled_layer().in_features,)
