"""NarrativeQA (Kočiský et al. 2018, arXiv:1712.07040): questions on books and film scripts, two answers each.

Format: google-deepmind/narrativeqa, README.md and download_stories.sh @ 2fd60b24: `documents.csv`, `qaps.csv`,
`third_party/wikipedia/summaries.csv`, and the stories as `tmp/<document_id>.content`. A story is a sample. Stories are
cut to what stands between `story_start` and `story_end` where both are found, tags of HTML are dropped; bytes that are
not UTF-8 are read as Latin-1, in which old files of Project Gutenberg are. Scores: ROUGE-L, as in the paper, and F1 of
words, the better of the two answers; the paper's BLEU and METEOR are left out.
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import exact_match, token_f1
from eval.metrics.rouge import rouge
from eval.tasks.corpus import ASKED, file_messages
from eval.tasks.options import TaskOptions, read_options

_PAGE = re.compile(r"<(?:html|body|pre)\b", re.IGNORECASE)
_NOT_SHOWN = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]+>", re.IGNORECASE | re.DOTALL)


class NarrativeqaOptions(TaskOptions):
    """Options of NarrativeQA."""

    folder: str = Field("narrativeqa", description="The repository, in the folder of the data.")
    split: Literal["train", "valid", "test"] = Field("test", description="Which documents.")
    text: Literal["story", "summary"] = Field("story", description="What is read: whole stories, or their summaries.")


class Narrativeqa:
    """NarrativeQA's questions, a story a sample."""

    metrics: tuple[str, ...] = ("ROUGE-L", "F1", "EM")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(NarrativeqaOptions(), section)
        self.name = options.name or "NarrativeQA"
        folder = data / options.folder
        self._stories = folder / "tmp"
        rows = _rows(folder / "documents.csv", options.split)
        self._summaries: dict[str, str] | None = None
        if options.text == "summary":
            summaries = _rows(folder / "third_party" / "wikipedia" / "summaries.csv", options.split)
            self._summaries = {row["document_id"]: row["summary"] for row in summaries}
            readable = set(self._summaries)
        else:
            readable = {row["document_id"] for row in rows if self._path(row["document_id"]).is_file()}
        self._documents = {row["document_id"]: row for row in rows if row["document_id"] in readable}
        self._questions: dict[str, list[Question]] = {id: [] for id in self._documents}
        malformed = [f"no text: {row['document_id']}" for row in rows if row["document_id"] not in readable]
        for row in _rows(folder / "qaps.csv", options.split):
            asked = self._questions.get(row["document_id"])
            answers = tuple(dict.fromkeys(row[key] for key in ("answer1", "answer2") if row.get(key)))
            if asked is not None and answers:
                asked.append(Question(f"q{len(asked)}", row["question"], answers))
            elif asked is not None:
                malformed.append(f"no answer: {row['question']}")
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """Ids of the documents whose text is there."""
        return list(self._documents)

    def sample(self, id: str) -> Sample:
        """One story, or its summary, and its questions."""
        if self._summaries is not None:
            text = self._summaries[id]
        else:
            row = self._documents[id]
            text = _story(self._path(id).read_bytes(), row.get("story_start", ""), row.get("story_end", ""))
        return Sample(id, file_messages(id, text), self._questions[id], ASKED)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Each against the better of the two answers."""
        return {
            "ROUGE-L": rouge(reply.text, question.answers)["ROUGE-L"],
            "F1": token_f1(reply.text, question.answers),
            "EM": exact_match(reply.text, question.answers),
        }

    def _path(self, id: str) -> Path:
        return self._stories / f"{id}.content"


def _rows(path: Path, split: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["set"] == split]


def _story(content: bytes, start: str, end: str) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if _PAGE.search(text, 0, 20_000):
        text = html.unescape(_NOT_SHOWN.sub("", text))
    first, last = _found(start, text), _found(end, text)
    inside = first is not None and last is not None and first.start() < last.end()
    return text[first.start() : last.end()] if inside and first and last else text


def _found(words: str, text: str) -> re.Match[str] | None:
    """The first place of some words, however they are spaced."""
    parts = [re.escape(word) for word in words.split()]
    return re.search(r"\s+".join(parts), text) if parts else None
