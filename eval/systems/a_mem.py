"""A-MEM (Xu et al. 2025, "A-MEM: Agentic Memory for LLM Agents"): notes that are linked and rewrite each other.

A message becomes a note with keywords K, tags G and a context sentence X, which a model writes (equations 1 and 2);
what is embedded is content, keywords, tags and context together (equation 3). Among the k notes nearest to a new one
(equations 4 and 5) a model decides which it is linked with (equation 6), and rewrites context and tags of these
neighbours in the light of the new one (equation 7, memory evolution). A question finds the k nearest notes (equations 8
to 10) and, as they share a box, the notes that they are linked with.

Ours beside the paper: one request decides on links and evolution of all neighbours of a note, as in the authors' code
(`process_memory`, memory_layer.py of WujiangXu/AgenticMemory), where the paper puts each neighbour to the model by
itself; a note that has evolved is embedded again at once, where their code waits for a hundred of them. Without an
engine keywords are the note's rarest terms among all notes, tags the kinds of cue that it holds, its context is the
sentence that covers most of it; it is linked with neighbours whose cosine is above a threshold, and these take over its
tags, and from its context what it shares with theirs. A reader gets a message with its context, keywords and tags where
a model wrote them, else the message alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any

import torch
from pydantic import Field, create_model

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, said
from eval.systems.language import Language
from eval.systems.options import options_of
from eval.systems.text_nodes import rows_by
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.reading.cues import find_cues
from nscma_torch.reading.extractive_summary import extract_summary
from nscma_torch.search.lexical import idf
from nscma_torch.text.terms import terms

_WORDS = 30  # of a context
_KEYWORDS = 5
_NOTE = (
    "You file a message of a conversation as a note. keywords: the nouns, verbs and names that matter most in it, the "
    "weightiest first, without who says it and when; at least three where the message has them. context: one sentence "
    "that says what it is about, what it tells and what for. tags: broad labels to sort it by, such as its field, what "
    "kind of message it is and its kind of topic; at least three."
)
_EVOLVE = (
    "You keep a box of notes on a conversation. A new note came in; beside it stand the notes most like it, by number. "
    "links: the numbers of those that it belongs with, [] if none: the same matter, a cause, a consequence, a "
    "change. tags: the new note's tags, better ones where its neighbours suggest them. neighbours: for each note that "
    "is understood better now that the new one is known, its number with a new context sentence and new tags; leave "
    "out those that stay as they are. Do not invent anything."
)
_Word = Annotated[str, Field(min_length=1, max_length=60)]
_Words = Annotated[list[_Word], Field(max_length=10)]
_Sentence = Annotated[str, Field(max_length=400)]


class NoteForm(ReplyForm):
    """What a model writes about a message (the paper's P_s1)."""

    keywords: _Words
    context: _Sentence
    tags: _Words


class EvolvedForm(ReplyForm):
    """A neighbour as it is to be."""

    number: int
    context: _Sentence
    tags: _Words


class EvolutionForm(ReplyForm):
    """What a new note is linked with, and what it changes (the paper's P_s2 and P_s3)."""

    links: Sequence[int]
    tags: _Words
    neighbours: Sequence[EvolvedForm]


@cache
def evolution_form(notes: int) -> type[EvolutionForm]:
    """The form for so many neighbours."""
    number: Any = Annotated[int, Field(ge=1, le=notes)]
    evolved = create_model("EvolvedNeighbour", __base__=EvolvedForm, number=(number, ...))
    limit = Field(max_length=notes)
    return create_model(
        "EvolutionAmongNotes", __base__=EvolutionForm, links=(list[number], limit), neighbours=(list[evolved], limit)
    )


class AMemOptions(Section):
    """Options of kind a-mem."""

    k: int = Field(10, gt=0, description="Nearest notes of a question; the notes linked with them are read, too.")
    neighbours: int = Field(5, gt=0, le=50, description="Nearest notes that a new one is held against.")
    linked: float = Field(0.6, ge=-1, le=1, description="Cosine from which notes are linked, without an engine.")


@dataclass(slots=True)
class Note:
    """One message.

    Attributes:
        links: rows of the notes that it is linked with, in both directions.
    """

    content: str
    keywords: tuple[str, ...]
    context: str
    tags: tuple[str, ...]
    links: set[int] = field(default_factory=set)

    @property
    def embedded(self) -> str:
        """What its vector is of (equation 3)."""
        return "\n".join(filter(None, (self.content, " ".join(self.keywords), " ".join(self.tags), self.context)))

    def shown(self) -> dict[str, Any]:
        """As a model reads it."""
        return {"content": self.content, "context": self.context, "keywords": self.keywords, "tags": self.tags}


class AMem:
    """The notes.

    Attributes:
        notes: of the passages, in order.
    """

    def __init__(self, language: Language, embedder: Embedder, options: AMemOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self.notes: list[Note] = []
        self._vectors = torch.empty(0, 0)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take the notes in one by one, linking and evolving on the way."""
        self._passages = passages
        self.notes = self._made([said(passage) for passage in passages])
        if not self.notes:
            return
        self._vectors = self._embed(range(len(self.notes)))
        for row in range(1, len(self.notes)):
            near = (self._vectors[:row] @ self._vectors[row]).topk(min(row, self._options.neighbours))
            changed = self._linked(row, near.indices.tolist(), near.values.tolist())
            if changed:
                self._vectors[changed] = self._embed(changed)

    def _embed(self, rows: Sequence[int]) -> torch.Tensor:
        """Vectors of some notes; one that is longer than the embedder reads is embedded by its content alone."""
        notes = [self.notes[row] for row in rows]
        sizes = self._embedder.count_tokens([note.embedded for note in notes])
        fits = [size <= self._embedder.max_tokens for size in sizes]
        texts = [note.embedded if own else note.content for note, own in zip(notes, fits, strict=True)]
        return self._embedder.embed(texts).cpu()

    def _made(self, contents: Sequence[str]) -> list[Note]:
        """Notes without links."""
        if self._language.engine is not None:
            forms = self._language.fill(NoteForm, _NOTE, [{"message": content} for content in contents])
            return [
                Note(content, _distinct(form.keywords), form.context, _distinct(form.tags))
                for content, form in zip(contents, forms, strict=True)
            ]
        held = [Counter(terms(content)) for content in contents]
        holders = Counter(term for own in held for term in own)
        found = []
        for content, own in zip(contents, held, strict=True):
            weight = {term: count * idf(len(contents), holders[term]) for term, count in own.items()}
            keywords = tuple(sorted(weight, key=lambda term: (-weight[term], term))[:_KEYWORDS])
            found.append(Note(content, keywords, extract_summary([content], _WORDS), tuple(sorted(find_cues(content)))))
        return found

    def _linked(self, row: int, near: Sequence[int], cosines: Sequence[float]) -> list[int]:
        """Link a new note with some of its neighbours and have them evolve; the rows of the notes that changed."""
        if self._language.engine is None:
            own = [other for other, cosine in zip(near, cosines, strict=True) if cosine >= self._options.linked]
            new = {other: self._taken_over(self.notes[other], self.notes[row]) for other in own}
        else:
            data = {
                "new": self.notes[row].shown(),
                "notes": {str(n): self.notes[other].shown() for n, other in enumerate(near, 1)},
            }
            (form,) = self._language.fill(evolution_form(len(near)), _EVOLVE, [data])
            own = [near[number - 1] for number in form.links]
            new = {near[one.number - 1]: (one.context, _distinct(one.tags)) for one in form.neighbours}
            new[row] = self.notes[row].context, _distinct(form.tags) or self.notes[row].tags
        for other in own:
            self.notes[row].links.add(other)
            self.notes[other].links.add(row)
        changed = [other for other, told in new.items() if told != (self.notes[other].context, self.notes[other].tags)]
        for other in changed:
            self.notes[other].context, self.notes[other].tags = new[other]
        return changed

    def _taken_over(self, note: Note, by: Note) -> tuple[str, tuple[str, ...]]:
        """Context and tags of a note that another one is linked with."""
        return extract_summary([note.context, by.context], _WORDS), _distinct((*note.tags, *by.tags))

    def find(self, question: str, now: datetime) -> Found:
        """The nearest notes of what was said by now, each with those that it is linked with."""
        if not self.notes:
            return Found((), ())
        cosines = self._vectors @ self._embedder.embed_query(question).cpu()
        known = rows_by(self._passages, now)
        order = [row for row in cosines.argsort(descending=True, stable=True).tolist() if row in known]
        read: dict[int, None] = {}
        for row in order[: self._options.k]:
            read |= dict.fromkeys([row, *sorted(self.notes[row].links & known)])
        ranking = list(dict.fromkeys([*read, *order]))[: max(RANKED, len(read))]
        return Found([self._read(row) for row in read], [self._passages[row] for row in ranking])

    def _read(self, row: int) -> Passage:
        note, passage = self.notes[row], self._passages[row]
        if self._language.engine is None:
            return passage
        about = f"(context: {note.context}; keywords: {', '.join(note.keywords)}; tags: {', '.join(note.tags)})"
        return replace(passage, text=f"{passage.text}\n{about}")

    def store_bytes(self) -> int:
        """Of texts and vectors."""
        written = sum(len(note.embedded.encode()) - len(note.content.encode()) for note in self.notes)
        return text_bytes(self._passages) + written + self._vectors.nbytes


def _distinct(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))


def make_a_mem(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind a-mem."""
    options = options_of(AMemOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(AMem(Language(shared, engine), shared.embedder, options)),
    )
