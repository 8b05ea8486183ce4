"""mem0 (Chhikara et al. 2025, "Mem0: Building Production-Ready AI Agents with Scalable Long-Term Memory", section 2.1).

Extraction: from the conversation's summary S, the last m messages and the new exchange of two, a model writes the facts
that are worth keeping, those of the new exchange alone. Update: each fact is put to the model with the s memories most
like it, and a tool call says what to do with it (appendix B, algorithm 1): ADD it, UPDATE one of these, DELETE one that
it contradicts, or NOOP. m and s are 10, as in its evaluation; a question finds 30 memories by cosine, as in that of
the authors' code (evaluation/run_experiments.py of mem0ai/mem0).

Ours beside the paper: S is renewed after every 10 exchanges, where the paper's runs beside the conversation at times
that it does not give. That an UPDATE must hold more than what it replaces (line 11 of the algorithm, which defines no
measure of it) is what the model is told. DELETE removes the memory and stores nothing, as line 16 has it. The graph of
section 2.2 is left out. Without an engine the facts are the sentences that the trained reader finds to state one, read
with the turns before them and without a summary, and its change head makes the call; what it finds replaced is updated.
The package itself, without its language model, is `peers/mem0_store.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union

import torch
from pydantic import Field, create_model

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found
from eval.systems.documents import embed_beginnings, said
from eval.systems.language import Language, numbered
from eval.systems.memory_collection import MemoryCollection, unit_and_before
from eval.systems.options import options_of
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import ToldFact
from nscma_torch.llm.engines.structured import ReplyForm

_SUMMARIZE = (
    "Write the summary of a conversation so far. The first text is the summary of what came before, where there is "
    "one; the others are the messages after it."
)
_EXTRACT = (
    "You keep the long-term memory of a conversation. You get its newest exchange, the messages before it and a "
    "summary of what was said earlier. facts: what the newest exchange tells that is worth knowing in later "
    "conversations (people, what they like, do, own, plan, feel, what happened and when), one fact in each, in a "
    "sentence that is understood alone, with names in the place of pronouns and dates in the place of words such as "
    "yesterday. Take the summary and the messages before only to understand the exchange; write down nothing that they "
    "alone tell. [] if there is nothing."
)
_CALL = (
    "You keep a store of memories. You get a new fact and the memories most like it, by number. Call one tool:\n"
    "- ADD: no memory says the same; the fact becomes a memory of its own;\n"
    "- UPDATE: the memory of that number is about the same matter and the fact makes it fuller or newer; text is the "
    "memory as it is to be, and tells more than it did;\n"
    "- DELETE: the memory of that number is no longer true, and the fact says no more than that;\n"
    "- NOOP: the memories say it already, or it is not worth keeping."
)
_Text = Annotated[str, Field(min_length=1, max_length=400)]


class FactsForm(ReplyForm):
    """What an exchange tells."""

    facts: Annotated[list[_Text], Field(max_length=16)]


class Add(ReplyForm):
    """A new memory."""

    tool: Literal["ADD"]


class Noop(ReplyForm):
    """Nothing changes."""

    tool: Literal["NOOP"]


class Update(ReplyForm):
    """A memory with another text."""

    tool: Literal["UPDATE"]
    number: int
    text: _Text


class Delete(ReplyForm):
    """A memory less."""

    tool: Literal["DELETE"]
    number: int


class CallForm(ReplyForm):
    """What the model does with a fact."""

    call: Add | Update | Delete | Noop


@cache
def call_form(memories: int) -> type[CallForm]:
    """The form over so many memories."""
    number: Any = (Annotated[int, Field(ge=1, le=memories)], ...)
    kinds = [create_model(f"{kind.__name__}One", __base__=kind, number=number) for kind in (Update, Delete)]
    call: Any = Union[(Add, *kinds, Noop)]
    return create_model("CallOnMemories", __base__=CallForm, call=(call, ...))


class Mem0Options(Section):
    """Options of kind mem0-operations."""

    top_k: int = Field(30, gt=0, description="Memories that are read.")
    lines: int = Field(2, gt=0, description="Passages of an exchange.")
    recent: int = Field(10, ge=0, description="m: passages before an exchange that the extraction is shown.")
    near: int = Field(10, gt=0, le=50, description="s: memories that a fact is held against.")
    renewed: int = Field(10, gt=0, description="Exchanges after which the summary is renewed.")
    words: int = Field(200, gt=0, description="Longest summary in words.")


class Mem0:
    """The store.

    Attributes:
        summary: S, of the exchanges up to the last renewal; "" without an engine.
        store: the memories.
    """

    def __init__(self, language: Language, embedder: Embedder, options: Mem0Options) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._said = torch.empty(0, 0)  # vectors of the passages
        self.summary = ""
        self.store = MemoryCollection(embedder)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in the messages exchange by exchange; what is extracted between two renewals of S is one batch."""
        self._passages = passages
        if not passages:
            return
        texts = [said(passage) for passage in passages]
        self._said = self._embedder.embed(texts).cpu()
        if self._language.engine is None:
            for row in range(len(passages)):
                self._read(row)
            return
        size = self._options.lines
        exchanges = [range(start, min(len(texts), start + size)) for start in range(0, len(texts), size)]
        for first in range(0, len(exchanges), self._options.renewed):
            batch = exchanges[first : first + self._options.renewed]
            shown = [self._shown(texts, rows) for rows in batch]
            for rows, form in zip(batch, self._language.fill(FactsForm, _EXTRACT, shown), strict=True):
                for fact in dict.fromkeys(form.facts):
                    self._call(fact, tuple(rows))
            new = texts[batch[0].start : batch[-1].stop]
            (self.summary,) = self._language.summaries(
                [[*filter(None, [self.summary]), *new]], _SUMMARIZE, words=self._options.words
            )

    def _shown(self, texts: Sequence[str], rows: range) -> dict[str, Any]:
        """What the extraction of an exchange is shown: as many of the last m messages as fit."""

        def data(before: Sequence[str]) -> dict[str, Any]:
            return {"summary": self.summary, "before": list(before), "exchange": [texts[row] for row in rows]}

        recent = texts[max(0, rows.start - self._options.recent) : rows.start]
        return data(self._language.latest(_EXTRACT, recent, data))

    def _call(self, fact: str, rows: tuple[int, ...]) -> None:
        """Let the model choose what a fact does to the memories most like it; the first one is added."""
        (vector,) = embed_beginnings(self._embedder, [fact])
        near = self.store.nearest(vector, self._options.near)

        def data(ids: Sequence[str]) -> dict[str, Any]:
            return {"fact": fact, "memories": numbered([self.store.memories[id].text for id in ids])}

        near = self._language.fitting(_CALL, near, data)
        if not near:
            self.store.insert(fact, rows)
            return
        (form,) = self._language.fill(call_form(len(near)), _CALL, [data(near)])
        match form.call:
            case Add():
                self.store.insert(fact, rows)
            case Update():
                self.store.update([near[form.call.number - 1]], form.call.text, rows)
            case Delete():
                self.store.delete(near[form.call.number - 1])

    def _read(self, row: int) -> None:
        """Do what the trained reader finds of a passage."""
        unit, turns = unit_and_before(self._passages, row)
        (told,) = self._language.tasks.extract([unit], listeners=[""], before=[turns])
        vectors = embed_beginnings(self._embedder, told.sentences)
        for sentence, vector in zip(told.sentences, vectors, strict=True):
            known = self.store.known(self.store.nearest(vector, self._options.near), self._passages)
            fact = ToldFact("", sentence, replace(unit, text=sentence))
            (operation,) = self._language.tasks.operate([(fact, known)])
            match operation.action:
                case "ADD":
                    self.store.insert(sentence, (row,))
                case "UPDATE":
                    self.store.update(operation.fact_ids, sentence, (row,))
                case "DELETE":
                    for id in operation.fact_ids:
                        self.store.delete(id)

    def find(self, question: str, now: datetime) -> Found:
        """The nearest memories."""
        if not self._passages:
            return Found((), ())
        query = self._embedder.embed_query(question).cpu()
        return self.store.find(query, self._passages, self._said, now, self._options.top_k)

    def store_bytes(self) -> int:
        """Of the memories with their vectors, and the summary; messages are not kept."""
        return self.store.nbytes + len(self.summary.encode())


def make_mem0(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind mem0-operations."""
    options = options_of(Mem0Options(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(Mem0(Language(shared, engine), shared.embedder, options)),
    )
