"""QuALITY (Pang et al. 2022, arXiv:2112.08608): multiple choice on articles and stories of some 5,000 words.

Format: nyu-mll/quality, README.md @ 0ced8de2: a JSON object a line, two lines for each article; `gold_label` counts
from 1. An article is a sample. The files without HTML (`QuALITY.v1.0.1.htmlstripped.dev`) are meant; those of the test
split have no gold labels and give no questions. Score: accuracy, as on the benchmark's leaderboard; category "hard" is
its subset `difficult`.
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


class QualityOptions(TaskOptions):
    """Options of QuALITY."""

    file: str = Field("quality/QuALITY.v1.0.1.htmlstripped.dev", description="In the folder of the data.")


class Quality:
    """QuALITY's questions, an article a sample."""

    metrics: tuple[str, ...] = ("accuracy",)

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(QualityOptions(), section)
        self.name = options.name or "QuALITY"
        malformed: list[str] = []
        self._articles: dict[str, str] = {}
        self._questions: dict[str, list[Question]] = {}
        with (data / options.file).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                if missing := [key for key in ("article_id", "article", "questions") if key not in row]:
                    malformed.append(f"line {number}: no {', '.join(missing)}")
                    continue
                self._articles.setdefault(row["article_id"], row["article"])
                asked = self._questions.setdefault(row["article_id"], [])
                for item in row["questions"]:
                    gold, choices = item.get("gold_label"), tuple(item.get("options", ()))
                    if not isinstance(gold, int) or not 1 <= gold <= len(choices):
                        malformed.append(f"line {number}: no gold label: {item.get('question')}")
                        continue
                    hard = "hard" if item.get("difficult") else "easy"
                    id, answer = f"q{len(asked)}", choices[gold - 1]
                    asked.append(Question(id, item["question"], (answer,), hard, options=choices))
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """Ids of the articles, in file order."""
        return list(self._articles)

    def sample(self, id: str) -> Sample:
        """One article with the questions of both its lines."""
        return Sample(id, file_messages(id, self._articles[id]), self._questions[id], ASKED)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Whether the reply chooses the right option."""
        chosen = chosen_option(reply.text, question.options)
        return {"accuracy": float(chosen is not None and question.options[chosen] == question.answers[0])}
