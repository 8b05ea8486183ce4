"""LangMem (LangChain's SDK for long-term memory, 2025; there is no paper): a manager of typed memories.

After each exchange the manager is shown it with the existing memories nearest to it, 5 as `create_memory_store_manager`
has it by default, and proposes inserts, updates and deletes of these. Memories have a type: a collection of single
memories that grows, and a profile with fixed fields that is patched, so that only the current state stays in it. A
question searches all of them by their embeddings.

Ours beside the SDK: a profile belongs to each person spoken of, and its fields are the run's relations that have one
value at a time; deletes are on, which the SDK leaves to the caller. Existing memories are searched with the whole
exchange, where the SDK (0.0.30) takes its last message alone (`query_limit // 4` windows) and embeds a memory as JSON
with its keys. The SDK's prompt optimizer learns instructions for an agent from rated replies, of which question
answering has none: it is not applicable and left out. Without an engine the trained reader's statements patch the
profiles, and each sentence that states a fact is held against the nearest memories by the change head, whose ADD,
UPDATE, DELETE and NOOP are the manager's operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found
from eval.systems.documents import said
from eval.systems.langmem_operations import MANAGE, Delete, Insert, Patch, Update, fields_of, manager_form
from eval.systems.language import Language
from eval.systems.memory_collection import MemoryCollection, unit_and_before
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, leaves_below
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Statement, ToldFact


class LangMemOptions(Section):
    """Options of kind langmem."""

    top_k: int = Field(10, gt=0, description="Memories that are read.")
    lines: int = Field(2, gt=0, description="Passages of an exchange.")
    near: int = Field(5, gt=0, le=50, description="Existing memories that an exchange is held against.")


class LangMem:
    """The memories.

    Attributes:
        profiles: of each person the fields that have a value, with the rows that it rests on.
    """

    def __init__(self, language: Language, embedder: Embedder, options: LangMemOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._said = torch.empty(0, embedder.dimension)  # vectors of the passages
        self._kept = MemoryCollection(embedder)
        self.profiles: dict[str, dict[str, TextNode]] = {}

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in the messages exchange by exchange."""
        self._passages = passages
        if not passages:
            return
        self._said = self._embedder.embed([said(passage) for passage in passages]).cpu()
        for start in range(0, len(passages), self._options.lines):
            rows = tuple(range(start, min(len(passages), start + self._options.lines)))
            if self._language.engine is None:
                for row in rows:
                    self._read(row)
            else:
                self._managed(rows)
        for person, fields in self.profiles.items():
            if fields:
                self._kept.set(f"profile of {person}", _profile(person, fields))

    @property
    def memories(self) -> dict[str, TextNode]:
        """By their ids: those of the collection, and when all was read the profiles."""
        return self._kept.memories

    def _patch(self, person: str, field: str, value: str, rows: tuple[int, ...]) -> None:
        own = self.profiles.setdefault(person, {})
        own.pop(field, None)
        if value:
            own[field] = TextNode(value, rows, written=True)

    def _managed(self, rows: tuple[int, ...]) -> None:
        """Do what the manager proposes for an exchange."""
        schema = self._language.relations
        near = self._kept.nearest(self._said[list(rows)].mean(0), self._options.near)
        texts = [said(self._passages[row]) for row in rows]
        named = [person for person in self.profiles if any(person in text for text in texts)]
        data = {
            "exchange": texts,
            "profiles": {one: {name: node.text for name, node in self.profiles[one].items()} for one in named},
            "memories": {str(number): self.memories[id].text for number, id in enumerate(near, 1)},
        }
        fields = "\n".join(f"- {name}: {schema[name].meaning}" for name in fields_of(schema))
        (form,) = self._language.fill(manager_form(schema, len(near)), MANAGE.format(fields=fields), [data])
        for one in form.operations:
            match one:
                case Insert():
                    self._kept.insert(one.content, rows)
                case Patch():
                    self._patch(one.person, str(one.field), one.value, rows)
                case Update() if near[one.number - 1] in self.memories:
                    self._kept.update([near[one.number - 1]], one.content, rows)
                case Delete():
                    self._kept.delete(near[one.number - 1])

    def _read(self, row: int) -> None:
        """Do what the trained reader finds of a passage."""
        unit, turns = unit_and_before(self._passages, row)
        (told,) = self._language.tasks.extract([unit], listeners=[""], before=[turns])
        for statement in told.statements:
            if self._language.relations[statement.relation].cardinality == "one" and not statement.past:
                self._stated(statement, row)
        known = self._kept.known(self._kept.nearest(self._said[row], self._options.near), self._passages)
        new = [ToldFact("", sentence, replace(unit, text=sentence)) for sentence in told.sentences]
        done = self._language.tasks.operate([(one, known) for one in new]) if new else []
        for one, operation in zip(new, done, strict=True):
            ids = [id for id in operation.fact_ids if id in self.memories]
            if operation.action == "UPDATE" and ids:
                self._kept.update(ids, one.text, (row,))
                continue
            if operation.action == "DELETE":
                for id in ids:
                    self._kept.delete(id)
            if operation.action != "NOOP":
                self._kept.insert(one.text, (row,))

    def _stated(self, statement: Statement, row: int) -> None:
        """Patch a profile; what is denied goes where it is what the field holds."""
        field = " ".join(filter(None, (statement.relation, statement.topic)))
        held = self.profiles.get(statement.subject, {}).get(field)
        if not statement.negated and statement.object:
            self._patch(statement.subject, field, statement.object, (row,))
        elif held is not None and statement.object in ("", held.text):
            self._patch(statement.subject, field, "", (row,))

    def find(self, question: str, now: datetime) -> Found:
        """The nearest memories, profiles among them."""
        if not self._passages:
            return Found((), ())
        query = self._embedder.embed_query(question).cpu()
        return self._kept.find(query, self._passages, self._said, now, self._options.top_k)

    def store_bytes(self) -> int:
        """Of the memories and their vectors; messages are not kept."""
        return self._kept.nbytes


def _profile(person: str, fields: Mapping[str, TextNode]) -> TextNode:
    lines = [f"{name.replace('_', ' ')}: {node.text}" for name, node in fields.items()]
    return TextNode("\n".join([f"Profile of {person}", *lines]), leaves_below(list(fields.values())), written=True)


def make_langmem(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind langmem."""
    options = options_of(LangMemOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(LangMem(Language(shared, engine), shared.embedder, options)),
    )
