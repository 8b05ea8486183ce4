# eval/tasks/parcels.py
"""Questions about where a parcel is: `parcels.json` in the data folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eval.harness.contract import Question, Reply, Sample
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.records import Message

_NOW = datetime(2026, 5, 14, tzinfo=UTC)


class Parcels:
    """One sample for each item: messages, a question, its answer, and the position of the evidence."""

    metrics: tuple[str, ...] = ("accuracy", "recall")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(TaskOptions(), section)
        self.name = options.name or "Parcels"
        self.malformed: tuple[str, ...] = ()
        self._items = json.loads((data / "parcels.json").read_text(encoding="utf-8"))

    def ids(self) -> Sequence[str]:
        return list(self._items)

    def sample(self, id: str) -> Sample:
        item = self._items[id]
        said = [Message("user", text, _NOW) for text in item["messages"]]
        question = Question("q", item["question"], (item["answer"],), evidence=(item["place"],))
        return Sample(id, said, [question], _NOW)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        right = float(question.answers[0] in reply.text)
        return {"accuracy": right, "recall": float(set(question.evidence) <= set(reply.evidence or ()))}
