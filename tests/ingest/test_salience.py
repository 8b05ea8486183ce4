"""The salience head in the write path: there with the embedder that it reads, absent with any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import EmbedderConfig, GateConfig, GateWeightsConfig
from nscma_torch.ingest.gating import Past, gate_messages
from nscma_torch.ingest.stages import Stages
from nscma_torch.surprise.gate import MessageGate
from nscma_torch.surprise.salience_head import SalienceHead
from nscma_torch.text.embedders.embedder import load_embedder

Open = Callable[..., Memory]
TEXTS = ["My brother Emil moved to Tampere in May.", "That's great, thanks!", "I'm allergic to walnuts."]


def test_the_head_is_asked_where_there_are_vectors(light_surprise: Any, embedder: Any) -> None:
    head = SalienceHead(embedder.dimension, embedder.fingerprint)
    vectors = embedder.embed(TEXTS)
    with_head, without = MessageGate(GateConfig(), head), MessageGate(GateConfig())
    weighed = gate_messages(TEXTS, Past(), light_surprise, with_head, Stages(), lambda: vectors)
    assert [own.learned for own in weighed.observations] == head.log_odds(vectors)
    for gate, given in ((with_head, None), (without, lambda: vectors)):
        weighed = gate_messages(TEXTS, Past(), light_surprise, gate, Stages(), given)
        assert [own.learned for own in weighed.observations] == [None] * 3


@pytest.mark.parametrize("deferred", [True, False])
def test_the_store_knows_what_the_head_said(deferred: bool, open_memory: Open, light_surprise: Any) -> None:
    """With deferred messages not embedded the gate decides before there are vectors, so without the head."""
    embedder = load_embedder(EmbedderConfig(model="all-MiniLM-L6-v2", dtype="float32"))
    memory = open_memory(embedder=embedder, surprise_model=light_surprise, config={"embedder": {"deferred": deferred}})
    memory.add(TEXTS, user_id="ada")
    decisions = [episode.decision for episode in memory.log(user_id="ada")]
    odds = SalienceHead.load().log_odds(embedder.embed(TEXTS))
    weight = GateWeightsConfig().learned
    said = [made.parts.get("learned") for made in decisions if made is not None]
    assert said == ([pytest.approx(weight * value) for value in odds] if deferred else [None] * 3)
    assert memory.replay(user_id="ada") == (3, []), "what the head said is kept with the message"


def test_the_head_does_not_read_vectors_of_another_embedder(
    open_memory: Open, light_surprise: Any, embedder: Any
) -> None:
    memory = open_memory(surprise_model=light_surprise)
    assert embedder.fingerprint != SalienceHead.load().embedder
    memory.add(TEXTS, user_id="ada")
    assert all("learned" not in e.decision.parts for e in memory.log(user_id="ada") if e.decision is not None)
    assert memory.components.salience_head is None


def test_the_head_says_the_same_however_messages_are_cut(open_memory: Open, light_surprise: Any) -> None:
    embedder = load_embedder(EmbedderConfig(model="all-MiniLM-L6-v2", dtype="float32"))
    texts = [f"{text} {'And so on. ' * (i % 5)}" for i, text in enumerate(TEXTS * 6)]
    stores = [
        open_memory(f"{n}.db", {"limits": {"max_batch": n}}, surprise_model=light_surprise, embedder=embedder)
        for n in (1, 18)
    ]
    for text in texts:
        stores[0].add(text, user_id="ada")
    stores[1].add(texts, user_id="ada")
    one, all_ = ([e.decision.parts.get("learned") for e in m.log(user_id="ada") if e.decision] for m in stores)
    assert one == all_ and len(set(one)) > 3
    assert torch.tensor(one).isfinite().all()


def test_erasing_another_message_leaves_what_the_head_said(open_memory: Open, light_surprise: Any) -> None:
    embedder = load_embedder(EmbedderConfig(model="all-MiniLM-L6-v2", dtype="float32"))
    memory = open_memory(surprise_model=light_surprise, embedder=embedder)
    first, *_ = memory.add(["Where do you live?", *TEXTS], user_id="ada")
    asked = [e.decision.parts for e in memory.log(user_id="ada") if e.decision][1]
    assert "answer" in asked and "learned" in asked
    memory.erase(user_id="ada", memory_id=first.id)
    memory.replay(user_id="ada", dry_run=False)
    after = next(e.decision.parts for e in memory.log(user_id="ada") if e.decision)
    assert "answer" not in after, "nothing remembers that the erased message was a question"
    assert after["learned"] == asked["learned"]
