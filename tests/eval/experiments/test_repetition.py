"""The streams of `eval.experiments.gate.repetition` are what they claim; the gate knows most of what they repeat."""

from __future__ import annotations

import re
import tomllib
from typing import Any, get_args

import pytest

from eval.experiments.gate.repetition import KNOWN, measure
from eval.experiments.gate.repetition_streams import FILE, KINDS, MESSAGES, Half, stream
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.salience_head import SalienceHead
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder

HALVES: tuple[Half, ...] = get_args(Half)


def test_halves_share_neither_values_nor_wordings() -> None:
    stored = tomllib.loads(FILE.read_text(encoding="utf-8"))
    assert stored["dev"].keys() == stored["test"].keys()
    for name, values in stored["dev"].items():
        assert not {v.casefold() for v in values} & {v.casefold() for v in stored["test"][name]}, name
    assert len(stored["fact"]) >= 25
    for fact in stored["fact"]:
        for half in HALVES:
            assert len(set(fact[half])) >= 5 and len(set(fact["changes"][half])) >= 2, fact["name"]
            slots = {frozenset(re.findall(r"{(\w+)}", wording)) for wording in fact[half]}
            assert len(slots) == 1, "every wording says all of the fact"
        for dev, test in ((fact["dev"], fact["test"]), (fact["changes"]["dev"], fact["changes"]["test"])):
            assert not {w.casefold() for w in dev} & {w.casefold() for w in test}, fact["name"]


@pytest.mark.parametrize("half", HALVES)
def test_a_stream_repeats_itself_in_three_of_five_messages(half: Half) -> None:
    for seed in range(5):
        said = stream(half, seed)
        assert said == stream(half, seed) != stream(half, seed + 1)
        assert {message.kind for message in said} <= set(KINDS)
        kinds = [message.kind.partition(":")[0] for message in said]
        assert len(said) == MESSAGES
        assert (kinds.count("verbatim"), kinds.count("paraphrased")) == (18, 18)
        assert (kinds.count("new"), kinds.count("hard")) == (15, 9)
        earlier: list[str] = []
        for message in said:
            if message.kind == "verbatim: copied":
                assert any(" ".join(message.text.casefold().split()) in text.casefold() for text in earlier)
            elif message.kind == "hard: changed back":
                assert any(message.text[1:] in text for text in earlier)
            else:
                assert message.text not in earlier or message.kind.startswith("verbatim")
            earlier.append(message.text)


def test_what_is_repeated_is_known(surprise_model: ByteSurpriseModel) -> None:
    """With an embedder that knows words only: other words for the same are often too far from it to be compared."""
    shares: dict[str, dict[str, Any]] = measure([stream("dev", 0)[:30]], surprise_model, HashEmbedder(), None)
    assert shares["all verbatim"]["composition"] >= 0.95
    assert shares["all paraphrased"][KNOWN] > 0.1 > shares["new"][KNOWN] == 0
    assert sum(own["messages"] for kind, own in shares.items() if kind in KINDS) == 30


@pytest.mark.prove
def test_repetition_in_other_words(surprise_model: ByteSurpriseModel) -> None:
    shares = measure(
        [stream("test", seed) for seed in range(40)], surprise_model, MiniLMEmbedder(device="cpu"), SalienceHead.load()
    )
    found = {kind: round(own["composition"], 3) for kind, own in shares.items()}
    print(f"\nrepetition, test half: {found}")
    assert found["all verbatim"] >= 0.95 and found["all paraphrased"] >= 0.7 and found["new"] <= 0.02
