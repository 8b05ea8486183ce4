"""QMSum (Zhong et al. 2021): meetings, and questions with the turns that answer them (`relevant_text_span`).

All meetings of a split are one corpus. Questions about a whole meeting have no such turns and are left out; a span
that lies outside its meeting is reported and dropped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eval.tasks.corpus import Corpus, Document, Question, Span

_Turns = list[tuple[int, int]]  # where each turn's characters begin and end


def load(data: Path, split: str) -> Corpus:
    """The meetings of one split, in the order of their names, one turn a line."""
    documents: list[Document] = []
    questions: list[Question] = []
    malformed: list[str] = []
    for place, path in enumerate(sorted((data / "qmsum" / "ALL" / split).glob("*.json"))):
        meeting = json.loads(path.read_text(encoding="utf-8"))
        document, turns = _document(path.stem, meeting["meeting_transcripts"])
        documents.append(document)
        for item in meeting["specific_query_list"]:
            spans = [_span(place, turns, pair) for pair in item["relevant_text_span"]]
            pairs = zip(item["relevant_text_span"], spans, strict=True)
            malformed += [f"{path.stem}: {pair}" for pair, span in pairs if span is None]
            evidence = tuple(span for span in spans if span is not None)
            if evidence:
                questions.append(Question(item["query"], evidence))
    return Corpus(f"QMSum {split}", tuple(documents), tuple(questions), False, tuple(malformed))


def _document(name: str, transcript: list[dict[str, str]]) -> tuple[Document, _Turns]:
    """The transcript as text, and the place of each turn in it."""
    lines = [f"{turn['speaker']}: {turn['content']}" for turn in transcript]
    turns, start = [], 0
    for line in lines:
        turns.append((start, start + len(line)))
        start += len(line) + 1
    return Document(name, "\n".join(lines)), turns


def _span(place: int, turns: _Turns, pair: list[Any]) -> Span | None:
    """Characters of the turns from the first number to the last, both counted from 0; None outside the meeting."""
    first, last = int(pair[0]), int(pair[-1])
    if not 0 <= first <= last < len(turns):
        return None
    return Span(place, turns[first][0], turns[last][1])
