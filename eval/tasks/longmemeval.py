"""LongMemEval (Wu et al. 2024, arXiv:2410.10813): a question on a history of many dated chat sessions.

Format: xiaowu0162/LongMemEval, README.md @ 01055c05 (`longmemeval_s.json`, `_m.json`, `_oracle.json`). Each instance is
a sample: its sessions in the order of their dates, and one question. Its half is that of its number in the file,
whichever `types` are asked and whatever cannot be used; where these leave more of one half than of the other, the last
ones are left out and named. Ids that end in `_abs` are of category "abstention", all others of their `question_type`,
so that tables can set knowledge-update apart.

The benchmark's score is a language model's yes or no (src/evaluation/evaluate_qa.py @ b11ff723). Without a judge two
measures of words stand in for it, and they are not it: "contains" is that the answer's words stand in the reply one
after another, "F1" that of words. A long reply is more likely to contain an answer: "words" says how long they are.
Abstention is exact. Retrieval is the benchmark's own (src/retrieval/eval_utils.py @ 6a92d1ab) over sessions, each in
the place of its best message; as there, not for abstention. `Question.evidence` are the turns with `has_answer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import holds, retrieval_scores, token_f1, word_count
from eval.tasks.items import in_turn
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)(?: \(\w+\))? (\d\d):(\d\d)")
_STEP = timedelta(seconds=30)
_ABSTENTION = "abstention"


class LongMemEvalOptions(TaskOptions):
    """Options of LongMemEval."""

    file: str = Field("longmemeval/longmemeval_s.json", description="In the folder of the data.")
    types: tuple[str, ...] = Field((), description="Which question types are asked; empty for all, with abstention.")


class LongMemEval:
    """LongMemEval's instances, a sample each."""

    metrics: tuple[str, ...] = (
        *("contains", "words", "F1", "recall_any@5", "recall_all@5", "ndcg_any@5"),
        *("recall_any@10", "recall_all@10", "ndcg_any@10"),
    )

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(LongMemEvalOptions(), section)
        self.name = options.name or "LongMemEval"
        rows = json.loads((data / options.file).read_text(encoding="utf-8"))
        if not isinstance(rows, list):
            raise ConfigError(f"{data / options.file} is not a list of instances; give a file as published")
        problems = {i: problem for i, row in enumerate(rows) if (problem := _problem(row))}
        wanted = {
            row["question_id"]: i
            for i, row in enumerate(rows)
            if i not in problems and (not options.types or _category(row) in options.types)
        }
        self._rows = {id: rows[i] for id, i in wanted.items()}
        self._ids, left_over = in_turn((i, id) for id, i in wanted.items())
        self.malformed = (*(f"instance {i}: {problem}" for i, problem in problems.items()), *left_over)

    def ids(self) -> Sequence[str]:
        """Ids of the questions, those of even and of odd number in the file in turn."""
        return self._ids

    def sample(self, id: str) -> Sample:
        """The sessions of one instance by their dates, and its question."""
        row = self._rows[id]
        named = zip(row["haystack_dates"], row["haystack_session_ids"], row["haystack_sessions"], strict=True)
        messages: list[Message] = []
        session_of: list[str] = []
        evidence: list[int] = []
        for began, session, turns in sorted(((_date(date), s, t) for date, s, t in named), key=lambda own: own[0]):
            for i, turn in enumerate(turns):
                if turn.get("has_answer"):
                    evidence.append(len(messages))
                session_of.append(session)
                messages.append(Message(turn["role"], turn["content"], began + i * _STEP, session=session))
        category, answer = _category(row), str(row["answer"])
        facts = {"sessions": session_of, "answer_sessions": row["answer_session_ids"], "reference": answer}
        answers = () if category == _ABSTENTION else (answer,)
        question = Question("q0", row["question"], answers, category, tuple(evidence), facts=facts)
        return Sample(id, messages, [question], _date(row["question_date"]))

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Words of the answer, or whether it abstained; retrieval of the sessions."""
        if question.category == _ABSTENTION:
            return {"contains": float(reply.abstained), "words": word_count(reply.text)}
        sessions = question.facts["sessions"]
        wanted = [sessions.index(own) for own in question.facts["answer_sessions"] if own in sessions]
        told = {
            "contains": float(holds(reply.text, question.answers[0])),
            "words": word_count(reply.text),
            "F1": token_f1(reply.text, question.answers),
        }
        if reply.evidence is None:
            return told
        found = list(dict.fromkeys(sessions.index(sessions[place]) for place in reply.evidence))
        return {**told, **retrieval_scores(wanted, found)}


def _category(row: Mapping[str, Any]) -> str:
    return _ABSTENTION if row["question_id"].endswith("_abs") else str(row["question_type"])


def _date(text: str) -> datetime:
    match = _DATE.fullmatch(text)
    assert match is not None
    year, month, day, hour, minute = map(int, match.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def _problem(row: Any) -> str:
    """Why an instance cannot be used; "" where it can."""
    keys = ("question_id", "question_type", "question", "answer", "question_date", "answer_session_ids")
    lists = ("haystack_dates", "haystack_session_ids", "haystack_sessions")
    if not isinstance(row, dict) or (missing := [key for key in (*keys, *lists) if key not in row]):
        return f"no {', '.join(missing)}" if isinstance(row, dict) else "not an object"
    if len({len(row[key]) for key in lists}) != 1:
        return "haystack lists of different lengths"
    wrong = [date for date in (row["question_date"], *row["haystack_dates"]) if not _DATE.fullmatch(str(date))]
    return f"not a date: {wrong[0]}" if wrong else ""
