"""MemoryAgentBench (Hu et al. 2025, arXiv:2507.05257): four competences of a memory, on long texts asked many times.

Format: ai-hyz/MemoryAgentBench (dataset card, MIT), as HUST-AI-HYZ/MemoryAgentBench reads it: README.md @ 306b80ae
there, its conversation_creator.py in the copy Hunk0724/MemoryAgentBench @ db3cbe59 and utils/eval_data_utils.py in
Hunk0724/query_time_ku @ 761b8353. A file for each competence, `<split>-00000-of-00001.parquet`, with 22 contexts of
Accurate_Retrieval, 6 of Test_Time_Learning, 110 of Long_Range_Understanding and 8 of Conflict_Resolution, which the
paper now calls selective forgetting; a row is a context, `questions`, `answers` (a list each) and `metadata`.
`<split>.json`, the rows as a list, is read in its place. A context is a sample, with its half by its place among those
that are asked.

The source hands it over in pieces of whole sentences, each in the words of a user who has read it; here a piece of up
to 4,000 characters is a message of a document, after the one before. A fact of Conflict_Resolution with a larger number
is newer. What each source asks for is said in a sentence of ours before the question. Its film recommendations (recsys)
are left out and named: their score takes a table of names and the nearest one by edit distance.

Scores: utils/eval_other_utils.py in the copy yilinpotato/MemoryAgentBench @ 5bab8faf. "SubEM" (an answer stands in the
reply, both normalised), "EM", "F1", "ROUGE-L", each the better of the reply and of what follows "Answer:" in it or
stands in its first line; of labels (icl) that part alone. "recall" (eventqa): all answers stand in the reply.
LongMemEval's questions and summaries (infbench) are scored by a language model there: for a judge the key points of a
summary are its rubric, of which ours wants all. "words" beside them, since long replies hold more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import exact_match, normalized, token_f1, word_count
from eval.metrics.rouge import rouge
from eval.tasks.corpus import WRITTEN
from eval.tasks.items import whole
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.extras import require
from nscma_torch.core.records import Message
from nscma_torch.text.sentences import split_sentences

_Split = Literal["Accurate_Retrieval", "Test_Time_Learning", "Long_Range_Understanding", "Conflict_Resolution"]
_STEP = timedelta(seconds=30)
_PIECE = 4_000  # characters of a message
_ANSWER = re.compile(r"Answer:(.*)", re.IGNORECASE)
_LABEL = re.compile(r"^label:\s*", re.IGNORECASE)
_BOOK_SUMMARY = "infbench_sum"  # begins the names of the sources that ask for a summary of a book
_SUMMARY_WORDS = 900  # of it: HELMET lets a model write 1,200 tokens about the same books
_ASKS = {  # by what the name of a source begins with
    "icl_": "Give the number of the label that this has, as in the examples, and nothing else.",
    _BOOK_SUMMARY: "Summarize the book.",
    "factconsolidation": "By the newest facts, which have the largest numbers, and not by what else is known:",
}


class MemoryAgentBenchOptions(TaskOptions):
    """Options of MemoryAgentBench."""

    folder: str = Field("memory_agent_bench/data", description="Of the files, in the folder of the data.")
    split: _Split = Field("Accurate_Retrieval", description="Which competence.")
    sources: tuple[str, ...] = Field(
        (), description="Which are asked, by the beginnings of their names; empty for all."
    )


class MemoryAgentBench:
    """One competence of MemoryAgentBench, a context a sample."""

    metrics: tuple[str, ...] = ("SubEM", "EM", "F1", "ROUGE-L", "recall", "words")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(MemoryAgentBenchOptions(), section)
        self.name = options.name or f"MemoryAgentBench {options.split.replace('_', ' ')}"
        rows, malformed = whole(_rows(data / options.folder, options.split), ("context", "questions", "answers"), "row")
        self._contexts: dict[str, tuple[str, list[Question]]] = {}
        for number, row in enumerate(rows):
            source = str((row.get("metadata") or {}).get("source") or "")
            if source.startswith("recsys"):
                malformed.append(f"row {number}: {source} needs a table of films for its score")
            elif not options.sources or source.startswith(options.sources):
                self._contexts[f"{number}-{source}"] = (row["context"], _questions(source, row))
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """Number and source of each context."""
        return list(self._contexts)

    def sample(self, id: str) -> Sample:
        """One context with its questions."""
        context, questions = self._contexts[id]
        pieces = enumerate(_pieces(context))
        messages = [Message("document", text, WRITTEN + i * _STEP, source=id) for i, text in pieces]
        _, _, source = id.partition("-")
        words = _SUMMARY_WORDS if source.startswith(_BOOK_SUMMARY) else 0
        return Sample(id, messages, questions, WRITTEN + len(messages) * _STEP, words)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """The measures of the source, each of the best answer."""
        words = {"words": word_count(reply.text)}
        if not question.answers:
            return {"SubEM": float(reply.abstained), **words}
        parsed = _parsed(reply.text)
        labels = question.facts["source"].startswith("icl_")
        own = [_measures(text, question.answers) for text in ([parsed] if labels else [reply.text, parsed])]
        scores = {name: max(measures[name] for measures in own) for name in own[0]}
        if question.facts["source"].startswith("eventqa"):
            scores["recall"] = float(all(answer.lower() in reply.text.lower() for answer in question.answers))
        return {**scores, **words}


def _rows(folder: Path, split: str) -> Iterable[Any]:
    """The rows of a split, of its list in JSON where there is one."""
    listed = folder / f"{split}.json"
    if listed.exists():
        rows: list[Any] = json.loads(listed.read_text(encoding="utf-8"))
        return rows
    path = folder / f"{split}-00000-of-00001.parquet"
    if not path.exists():
        raise FileNotFoundError(f"neither {listed.name} nor {path.name} is in {folder}")
    found: list[Any] = require("pyarrow.parquet", extra="eval", purpose="reading Parquet").read_table(path).to_pylist()
    return found


def _pieces(context: str) -> Iterator[str]:
    """Consecutive sentences, as many as make a message, with what stands between them."""
    start = end = 0
    for sentence in split_sentences(context):
        if end > start and sentence.end - start > _PIECE:
            yield context[start:end]
            start = sentence.start
        end = sentence.end
    yield context[start:end]


def _questions(source: str, row: Mapping[str, Any]) -> list[Question]:
    """The questions of a context; where there is one, all answers are its."""
    texts, answers = _listed(row["questions"]), [_listed(own) for own in _listed(row["answers"])]
    if len(texts) == 1 or len(answers) == 1:
        texts, answers = texts[:1], [[answer for own in answers for answer in own]]
    about = row.get("metadata") or {}
    asked = next((words for beginning, words in _ASKS.items() if source.startswith(beginning)), "")
    questions = []
    for i, (text, right) in enumerate(zip(texts, answers, strict=False)):
        facts: dict[str, Any] = {"source": source}
        if points := _listed(about.get("keypoints")):
            facts["rubric"] = points
        id, kind = (_at(about.get(key), i) for key in ("question_ids", "question_types"))
        known = () if id.endswith("_abs") else tuple(right)
        said = f"{asked} {text}".strip()
        questions.append(Question(f"q{i}", said, known, kind or source, facts=facts))
    return questions


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else [value] if value else []


def _at(values: Any, i: int) -> str:
    listed = _listed(values)
    return str(listed[i]) if i < len(listed) else ""


def _parsed(reply: str) -> str:
    """What follows "Answer:" in its line, or the first line; of a label, without the word."""
    found = _ANSWER.search(reply)
    text = found[1] if found else reply.partition("\n")[0]
    return _LABEL.sub("", text.strip())


def _measures(reply: str, answers: Sequence[str]) -> dict[str, float]:
    said = normalized(reply)
    return {
        "SubEM": float(any(right in said for right in map(normalized, answers) if right)),
        "EM": exact_match(reply, answers),
        "F1": token_f1(reply, answers, closed=True),
        "ROUGE-L": rouge(reply, answers)["ROUGE-L"],
    }
