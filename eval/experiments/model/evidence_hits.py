"""Labelled inputs for rerank and select: questions about dialogues, with the first hits of a search for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from eval.experiments.reading.conversation_files import Conversation, Question, load
from eval.experiments.reading.conversations import K, Models, loaded, stored
from nscma_torch import Config, Memory
from nscma_torch.core.records import Hit
from nscma_torch.reading.first_person import author


class EvidenceHits(Mapping[str, Mapping[str, Any]]):
    """Cases by id, `{"id", "question", "hits", "relevant"}`; a dialogue is stored when its first case is read.

    A hit is relevant if it comes from a message of evidence and isn't a summary.

    Args:
        folder: the dialogues.
        most: maximum number of questions, taken at equal distances among those that have evidence.
        config: configuration of the memory that is searched.
    """

    def __init__(self, folder: Path, most: int, config: Config) -> None:
        self._config = config
        answerable = [(own, question) for own in load([folder]) for question in own.questions if question.evidence]
        number = min(most, len(answerable))
        chosen = [answerable[i * len(answerable) // number] for i in range(number)]
        self._chosen = {f"{own.name}: {question.text}": (own, question) for own, question in chosen}
        self._made: dict[str, Mapping[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._chosen)

    def __iter__(self) -> Iterator[str]:
        return iter(self._chosen)

    def __getitem__(self, id_: str) -> Mapping[str, Any]:
        if id_ not in self._made:
            conversation, _ = self._chosen[id_]
            with stored(conversation, range(len(conversation.messages)), self._models) as (memory, places):
                for other, (own, question) in self._chosen.items():
                    if own is conversation:
                        self._made[other] = {"id": other, **_found(memory, places, own, question)}
        return self._made[id_]

    @cached_property
    def _models(self) -> Models:
        return loaded(self._config)


def _found(
    memory: Memory, places: Mapping[str, int], conversation: Conversation, question: Question
) -> Mapping[str, Any]:
    hits = memory.search(question.text, user_id=conversation.user, top_k=K, now=conversation.asked_at)
    evidence = set(question.evidence)
    return {
        "question": question.text,
        "hits": [_shown(hit) for hit in hits],
        "relevant": [
            hit.unit.kind != "summary" and any(places[source] in evidence for source in hit.unit.episode_ids)
            for hit in hits
        ],
    }


def _shown(hit: Hit) -> Mapping[str, Any]:
    day = hit.occurred_at.date().isoformat()
    return {"by": author(hit.unit), "day": day, "text": hit.text, "score": hit.score}
