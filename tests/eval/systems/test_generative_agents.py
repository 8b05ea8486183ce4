"""Generative Agents: the score by hand, and when and of what a reflection is made."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.harness.contract import Cost
from eval.systems.documents import default_chunker, passages_of
from eval.systems.generative_agents import GenerativeAgentsOptions, MemoryStream
from eval.systems.language import Language
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, places, reading, shared


class Planar(HashEmbedder):
    """Vectors in a plane: the second word of a text says how near it is to every question, in percent."""

    def embed(self, texts: Any) -> torch.Tensor:
        cosines = torch.tensor([float(text.split()[1]) / 100 for text in texts])
        return torch.stack([cosines, (1 - cosines**2).sqrt()], dim=1)

    def embed_query(self, text: str) -> torch.Tensor:  # noqa: ARG002
        return torch.tensor([1.0, 0.0])


def rated(**ratings: int) -> Scripted:
    """An engine that rates a text by its first word, asks one question, and concludes one thing of two memories."""

    def write(request: Request) -> str:
        assert request.schema is not None
        shown = request.turns[-1].content
        match request.schema["title"]:
            case "RatingForm":
                return json.dumps({"importance": next(n for word, n in ratings.items() if word in shown)})
            case "SalientQuestions":
                return json.dumps({"questions": ["What matters?"]})
            case _:
                line = {"text": "So 90 it is.", "evidence": [1, 2], "confidence": "high"}
                return json.dumps({"lines": [line]})

    return Scripted(write)


def stream(engine: Scripted, messages: list[Message], **options: Any) -> MemoryStream:
    run = shared(engine=engine)
    found = MemoryStream(Language(run, engine), Planar(), GenerativeAgentsOptions(**options))
    found.keep(passages_of(messages, default_chunker(HashEmbedder())))
    return found


def test_each_part_of_the_score_is_scaled_over_all_memories() -> None:
    texts = ("Eat 20 beans", "Marry 80 beans", "Walk 50 beans")
    messages = [Message("user", text, BEGUN + timedelta(hours=100 * n)) for n, text in enumerate(texts)]
    own = stream(rated(Eat=1, Marry=10, Walk=4), messages)
    scores = own.scores("What?", BEGUN + timedelta(hours=200), range(3)).tolist()
    oldest, older = 0.995**200, 0.995**100
    recency = (older - oldest) / (1 - oldest)
    assert scores == pytest.approx([0 + 0 + 0, recency + 1 + 1, 1 + 3 / 9 + 0.5], abs=1e-6)


def test_a_reflection_is_made_when_importance_passes_the_threshold_and_goes_into_the_stream() -> None:
    messages = [Message("user", f"Walk 5{n} 90", BEGUN + timedelta(hours=n)) for n in range(8)]
    engine = rated(Walk=4, So=9)
    own = stream(engine, messages, threshold=12)
    written = [place for place, memory in enumerate(own.memories) if memory.node.written]
    assert written == [4, 9], "after 16, which is more than 12, and again after as much"
    first, second = (own.memories[place] for place in written)
    assert first.importance == 9 and first.node.leaves == (2, 3), "it cites the two best, which are the newest"
    assert second.node.leaves == (2, 3, 7), "the second one cites the first, and the newest message"
    accessed = [memory.accessed for memory in own.memories]
    assert accessed[0] == BEGUN + timedelta(hours=7), "what a reflection retrieves is fresh again"
    assert sum(request.schema is None or request.schema["title"] == "RatingForm" for request in engine.asked) == 10


def test_what_was_said_later_is_not_found_and_asking_leaves_no_trace(tmp_path: Path) -> None:
    run = shared()
    messages = [
        Message("user", f"I love my kiln and my {noun}.", BEGUN + timedelta(days=n), name="Rita")
        for n, noun in enumerate(("glaze", "clay", "wheel", "bench", "oven") * 4)
    ]
    section = {"kind": "generative-agents", "threshold": 30, "top_k": 4}
    with reading(section, run, tmp_path, messages) as session:
        early = session.ask("kiln", options=(), now=BEGUN + timedelta(days=3))
        replies = [replace(session.ask("What about the kiln?", options=(), now=ASKED), cost=Cost()) for _ in range(2)]
        assert session.store_bytes() > sum(len(message.content) for message in messages)
    assert set(places(early)) == {0, 1, 2, 3} and replies[0] == replies[1]
    assert isinstance(run.reader, ShowingReader)
    assert any(passage.text.startswith("Rita spoke of kiln") for passage in run.reader.handed[1]), "a reflection"
