"""FABLES (Kim et al. 2024, arXiv:2404.01261): is a claim of a summary true of the book?

Format: mungg/FABLES, README.md @ 0c1bfa29 and parsing_FABLE.py @ 766a2a39: book title, model, `claims`, each with
`claim` and `label`. The books are under copyright and not part of it: each is `books/<title>.txt` beside the file. A
book is a sample, each claim labelled "Yes" or "No" a question; "PartialSupport" and "Inapplicable" are left out.

Scores: accuracy, and as a share each of four outcomes (`tp`, `fp`, `fn`, `tn`, where faithful is positive), from whose
means `eval.metrics.answer_metrics.f1_of_classes` makes F1_P and F1_N. A reply that is neither yes nor no is wrong: for
a faithful claim a `fn`, for another a `fp`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import chosen_option
from eval.tasks.corpus import ASKED, file_messages
from eval.tasks.options import TaskOptions, read_options

_OPTIONS = ("Yes", "No")


class FablesOptions(TaskOptions):
    """Options of FABLES."""

    file: str = Field("fables/FABLES.json", description="In the folder of the data; `books/` stands beside it.")


class Fables:
    """FABLES' claims, a book a sample."""

    metrics: tuple[str, ...] = ("accuracy", "tp", "fp", "fn", "tn")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(FablesOptions(), section)
        self.name = options.name or "FABLES"
        path = data / options.file
        self._books = path.parent / "books"
        self._questions: dict[str, list[Question]] = {}
        malformed: list[str] = []
        for title, summaries in json.loads(path.read_text(encoding="utf-8")).items():
            if not (self._books / f"{title}.txt").is_file():
                malformed.append(f"no text: {title}")
                continue
            asked = self._questions.setdefault(title, [])
            for model, summary in summaries.items():
                for number, item in summary.get("claims", {}).items():
                    if not item.get("claim") or not item.get("label"):
                        malformed.append(f"{title}, {model}, {number}: no claim or no label")
                    elif item["label"] in _OPTIONS:
                        text = f"Is this true of the book? {item['claim']}"
                        asked.append(Question(f"{model}-{number}", text, (item["label"],), model, options=_OPTIONS))
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """Titles of the books whose text is there."""
        return list(self._questions)

    def sample(self, id: str) -> Sample:
        """One book with the claims of all models."""
        text = (self._books / f"{id}.txt").read_text(encoding="utf-8")
        return Sample(id, file_messages(id, text), self._questions[id], ASKED)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Which of the four outcomes it is."""
        faithful = question.answers == ("Yes",)
        chosen = chosen_option(reply.text, _OPTIONS)
        right = chosen is not None and _OPTIONS[chosen] == question.answers[0]
        outcome = ("tp" if faithful else "tn") if right else ("fn" if faithful else "fp")
        return {"accuracy": float(right), **{name: float(name == outcome) for name in ("tp", "fp", "fn", "tn")}}
