"""ODSum (Zhou et al. 2023), open-domain summarisation over documents: stories of SQuALITY, meetings of QMSum.

Which documents a query is about is its evidence. Meeting: `meetings_list` names them; a name without a file is
dropped and reported. Story: a query's responses carry the same ids as those of the story they were written for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eval.tasks.corpus import Corpus, Document, Question, Span


def load_meetings(data: Path) -> Corpus:
    """ODSum-Meeting: one document for each transcript, in the order of their names."""
    folder = data / "odsum" / "Meeting" / "raw"
    paths = sorted((folder / "Documents").glob("*.txt"))
    documents = tuple(Document(path.stem, path.read_text(encoding="utf-8")) for path in paths)
    place = {document.name: i for i, document in enumerate(documents)}
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8")).values()
    named = [(query["query"], query["meetings_list"]) for query in queries]
    questions = [(text, [place[name] for name in names if name in place]) for text, names in named]
    malformed = tuple(name for _, names in named for name in names if name not in place)
    return Corpus("ODSum-Meeting", documents, _questions(documents, questions), True, malformed)


def load_stories(data: Path) -> Corpus:
    """ODSum-Story: one document for each story, in file order."""
    folder = data / "odsum" / "Story" / "raw"
    rows = [row for part in ("dev", "test", "train") for row in _json_lines(folder / "documents" / f"{part}.jsonl")]
    documents = tuple(Document(row["metadata"]["uid"], "\n\n".join(row["divided_document"])) for row in rows)
    story_of = {uid: i for i, row in enumerate(rows) for own in row["questions"] for uid in _responses(own)}
    asked = [query for queries in _json_lines(folder / "queries.jsonl") for query in queries]
    questions = [
        (query["question_text"], [story_of[uid] for uid in _responses(query) if uid in story_of]) for query in asked
    ]
    malformed = tuple(uid for query in asked for uid in _responses(query) if uid not in story_of)
    return Corpus("ODSum-Story", documents, _questions(documents, questions), True, malformed)


def _json_lines(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _responses(question: dict[str, Any]) -> list[str]:
    return [response["uid"] for response in question["responses"]]


def _questions(documents: tuple[Document, ...], found: list[tuple[str, list[int]]]) -> tuple[Question, ...]:
    return tuple(
        Question(text, tuple(Span(place, 0, len(documents[place].text)) for place in dict.fromkeys(places)))
        for text, places in found
        if places
    )
