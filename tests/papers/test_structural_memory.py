"""The equations of Structural Memory in plain Python, against the library under `papers/structural_memory`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import read_toml
from tests.papers.presets import FOLDER, preset
from tests.search.strategies.test_strategies_over_stand_ins import OF_BOTH, Written, run


def test_iterative_retrieval() -> None:
    """Section 3.2: M_j = Retriever(q_(j-1), T), q_j = LLM(M_j); after N rounds M_r = Retriever(q_N, K)."""
    settings = preset("structural_memory").retrieval
    chance = random.Random(0)
    questions = ["q", "q1", "q2", "q3", "q4"]
    answers = {text: {n: chance.random() for n in range(99)} for text in questions}
    written = Written(answers, questions=questions[1:], settings=settings)
    found = run("iterative", written, 30)

    def retriever(question: str, most: int) -> list[int]:
        return sorted(answers[question], key=lambda n: -answers[question][n])[:most]

    asked = ["q"]
    for j in range(1, settings.iterative.refinements + 1):
        assert written.judged[j - 1] == retriever(asked[-1], settings.iterative.refined_from)
        asked.append(questions[j])
    assert asked == ["q", "q1", "q2", "q3"] and len(written.judged) == settings.iterative.refinements
    assert list(found.scores) == retriever("q3", 30)


def test_reranking() -> None:
    """Section 3.2: M_r = LLM(q, M_i, R), M_i = Retriever(q, K): the R most relevant of the K best."""
    settings = preset("structural_memory").retrieval
    chance = random.Random(1)
    scores = {n: chance.random() for n in range(300)}
    relevant = {n: chance.random() for n in range(300)}
    written = Written({"q": scores}, relevant=relevant, bounds=OF_BOTH, settings=settings)
    found = run("rerank", written, 50)
    best = sorted(scores, key=lambda n: -scores[n])[: settings.rerank.looked_at]
    assert list(found.scores) == sorted(best, key=lambda n: -relevant[n])[: settings.rerank.kept]


def test_mixed_memory_by_cosine(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """Sections 3.1 and 3.2: M = C + T + A + S, and the retriever ranks all by the cosine of the embeddings."""
    memory = open_memory("mixed.db", read_toml(FOLDER / "structural_memory.toml"), surprise_model=light_surprise)
    memory.add(["I live in Porto.", "I work as a pilot.", "The kettle is in the shed."], user_id="kim")
    memory.sleep(user_id="kim")
    question = "Where is my home in Porto?"
    hits = memory.search(question, user_id="kim", strategy="single-step", top_k=200)
    assert {hit.unit.kind for hit in hits} == {"chunk", "triple", "atomic_fact", "document_summary"}
    (summary,) = (hit.unit for hit in hits if hit.unit.kind == "document_summary")
    assert len(summary.episode_ids) == 3, "of the whole document"
    embedder = memory.components.embedder
    asked = embedder.embed_query(question)
    cosines = [float(embedder.embed([hit.text])[0] @ asked) for hit in hits]
    assert cosines == sorted(cosines, reverse=True)
    assert all(abs(hit.score - cosine) < 1e-5 for hit, cosine in zip(hits, cosines, strict=True))
