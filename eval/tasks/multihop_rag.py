"""MultiHop-RAG (Tang and Yang 2024, arXiv:2401.15391): questions on news whose evidence lies in 2 to 4 articles.

Format: yixuantt/MultiHop-RAG, util.py @ 7b337281 and simple_retrieval.py @ 652ce710: `dataset/corpus.json` (title,
source, published_at, body) and `dataset/MultiHopRAG.json` (query, answer, question_type, evidence_list). Evidence names
articles by url, where both have it, or by title. All articles are one memory, dated as they were published.

Scores: "accuracy" by qa_evaluate.py @ 33d3ad09, where one word in common is enough, "EM", "F1" and how many words a
reply has beside it since it is lenient; a question of type `null_query` is right where the system abstains. Hits@4,
Hits@10, MAP@10 and MRR@10 by retrieval_evaluate.py @ 33d3ad09, but of articles: the source looks for the words of the
evidence in retrieved chunks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import exact_match, token_f1, word_count
from eval.tasks.corpus import HALVES
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

_NULL = "null_query"
_INSUFFICIENT = "insufficient information"


class MultihopRagOptions(TaskOptions):
    """Options of MultiHop-RAG."""

    folder: str = Field("multihop_rag/dataset", description="Of the two files, in the folder of the data.")


class MultihopRag:
    """MultiHop-RAG's questions over all articles."""

    metrics: tuple[str, ...] = ("accuracy", "words", "F1", "EM", "Hits@4", "Hits@10", "MAP@10", "MRR@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(MultihopRagOptions(), section)
        self.name = options.name or "MultiHop-RAG"
        articles = json.loads((data / options.folder / "corpus.json").read_text(encoding="utf-8"))
        if not articles:
            raise ConfigError(f"{data / options.folder / 'corpus.json'} holds no article")
        self._messages = [
            Message("document", article["body"], _date(article), article["title"], source=article["title"])
            for article in articles
        ]
        place = {article[key]: i for i, article in enumerate(articles) for key in ("title", "url") if key in article}
        malformed: list[str] = []
        self._questions: list[Question] = []
        for row in json.loads((data / options.folder / "MultiHopRAG.json").read_text(encoding="utf-8")):
            if not row.get("query") or not row.get("answer"):
                malformed.append(f"no query or no answer: {row.get('query')}")
                continue
            keys = [(own.get("url"), own.get("title")) for own in row.get("evidence_list", ())]
            places = [next((place[key] for key in pair if key in place), None) for pair in keys]
            malformed += [f"no such article: {pair[1]}" for pair, own in zip(keys, places, strict=True) if own is None]
            evidence = tuple(dict.fromkeys(own for own in places if own is not None))
            kind = row.get("question_type", "")
            answers = () if kind == _NULL else (str(row["answer"]),)
            self._questions.append(Question(f"q{len(self._questions)}", row["query"], answers, kind, evidence))
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """The halves of the questions."""
        return HALVES

    def sample(self, id: str) -> Sample:
        """All articles with the questions of a half."""
        last = max(message.timestamp for message in self._messages if message.timestamp)
        return Sample(id, self._messages, self._questions[HALVES.index(id) :: 2], last + timedelta(days=1))

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """The answer, or that it abstained; the ranks of the articles of its evidence."""
        if not question.answers:
            right = reply.abstained or _INSUFFICIENT in reply.text.lower()
            return {"accuracy": float(right), "words": word_count(reply.text)}
        (answer,) = question.answers
        return {
            "accuracy": float(not set(reply.text.lower().split()).isdisjoint(answer.lower().split())),
            "words": word_count(reply.text),
            "F1": token_f1(reply.text, question.answers),
            "EM": exact_match(reply.text, question.answers),
            **ranks(question.evidence, reply.evidence),
        }


def ranks(evidence: Sequence[int], found: Sequence[int] | None) -> dict[str, float]:
    """Hits@4, Hits@10, MAP@10 and MRR@10; {} without evidence or ranking (None).

    The source's precision at a rank counts what is new at that rank, not what was found up to it, and so does this.
    """
    if not evidence or found is None:
        return {}
    hits = [rank for rank, place in enumerate(dict.fromkeys(found), 1) if place in evidence and rank <= 10]
    return {
        "Hits@4": float(any(rank <= 4 for rank in hits)),
        "Hits@10": float(bool(hits)),
        "MAP@10": sum(1 / rank for rank in hits) / min(len(evidence), 10),
        "MRR@10": 1 / hits[0] if hits else 0.0,
    }


def _date(article: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(article["published_at"])
