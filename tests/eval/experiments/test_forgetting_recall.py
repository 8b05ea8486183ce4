"""A year of sleep over a small conversation: what is asked for stays, the rest fades and can be brought back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from eval.experiments.facts.forgetting_recall import Year
from eval.tasks.locomo import Conversation, Question
from nscma_torch import Message, load_config
from nscma_torch.text.hash_embedder import HashEmbedder

_WORDS = ("harbour", "orchard", "tunnel", "glacier", "theatre", "foundry", "meadow", "castle", "reactor", "lagoon")
_START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def _conversation() -> Conversation:
    messages = [
        Message("user", f"I visited the {word} number {i} with my aunt.", _START + timedelta(days=i), name="Ottoline")
        for i, word in enumerate(_WORDS)
    ]
    questions = [Question(f"Who visited the {word}?", 1, (i,)) for i, word in enumerate(_WORDS)]
    return Conversation("small", messages, questions, [], _START + timedelta(days=len(_WORDS)), ())


def test_what_is_asked_for_stays_and_the_rest_comes_back(tmp_path: Path) -> None:
    light = {"embedder": {"model": "hash"}, "gate": {"rule": "everything"}, "retrieval": {"lanes": ["lexical"]}}
    config = load_config(light)
    year = Year(_conversation(), tmp_path, config, HashEmbedder())

    kept = year.sleep("kept", config, asking=False)["idle"]
    assert kept.messages_archived == 0 and kept.before == kept.after == kept.undone == [1.0] * 10

    weak = load_config({**light, "curator": {"initial_strength": 60.0}})
    idle = year.sleep("idle", weak, asking=False)["idle"]
    assert (idle.messages, idle.messages_archived, idle.destroyed) == (10, 10, 0)
    assert idle.after == [0.0] * 10
    assert idle.undone == idle.before == [1.0] * 10

    used = year.sleep("used", weak, asking=True)
    assert used["asked"].after == used["asked"].before == [1.0] * 5
    assert used["asked"].messages_archived < 10 and used["asked"].destroyed == 0
    assert used["not asked"].undone == [1.0] * 5
