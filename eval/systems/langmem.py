"""LangMem (LangChain's SDK for long-term memory, 2025; there is no paper): a manager of typed memories.

After each exchange the manager is shown it with the existing memories nearest to it, 5 as `create_memory_store_manager`
has it by default, and proposes inserts, updates and deletes of these. Memories have a type: a collection of single
memories that grows, and a profile with fixed fields that is patched, so that only the current state stays in it. A
question searches all of them by their embeddings.

Ours beside the SDK: a profile belongs to each person spoken of, and its fields are the run's relations that have one
value at a time; deletes are on, which the SDK leaves to the caller. The SDK's prompt optimizer learns instructions for
an agent from rated replies, of which question answering has none: it is not applicable and left out. Without an engine
the trained reader's statements patch the profiles, and each sentence that states a fact is held against the nearest
memories by the change head, whose ADD, UPDATE, DELETE and NOOP are the manager's operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found
from eval.systems.documents import RANKED, said
from eval.systems.langmem_operations import MANAGE, Delete, Insert, Patch, Update, fields_of, manager_form
from eval.systems.language import Language, units_of
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, as_passage, as_unit, leaves_below, ranked_leaves, said_by
from nscma_torch.config import Section
from nscma_torch.protocols import Embedder
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.records import Statement, ToldFact


class LangMemOptions(Section):
    """Options of kind langmem."""

    top_k: int = Field(10, gt=0, description="Memories that are read.")
    lines: int = Field(2, gt=0, description="Passages of an exchange.")
    near: int = Field(5, gt=0, le=50, description="Existing memories that an exchange is held against.")


class LangMem:
    """The memories.

    Attributes:
        memories: by their ids: those of the collection, and when all was read the profiles.
        profiles: of each person the fields that have a value, with the rows that it rests on.
    """

    def __init__(self, language: Language, embedder: Embedder, options: LangMemOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._said = torch.empty(0, embedder.dimension)  # vectors of the passages
        self._made = 0
        self.memories: dict[str, TextNode] = {}
        self.profiles: dict[str, dict[str, TextNode]] = {}
        self._vectors: dict[str, Tensor] = {}

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
                self._set(f"profile of {person}", _profile(person, fields))

    def _nearest(self, vector: Tensor) -> list[str]:
        """Ids of the nearest memories of the collection."""
        cosine = {id: float(self._vectors[id] @ vector) for id in self.memories}
        return sorted(cosine, key=lambda id: -cosine[id])[: self._options.near]

    def _set(self, id: str, node: TextNode) -> None:
        self.memories[id] = node
        self._vectors[id] = self._embedder.embed([node.text]).cpu()[0]

    def _insert(self, text: str, rows: tuple[int, ...]) -> None:
        self._made += 1
        self._set(str(self._made), TextNode(text, rows, written=True))

    def _update(self, ids: Sequence[str], text: str, rows: tuple[int, ...]) -> None:
        """New content in the place of the first; the others of these go."""
        leaves = leaves_below([*(self.memories[id] for id in ids), TextNode("", rows)])
        for id in ids[1:]:
            self._delete(id)
        self._set(ids[0], TextNode(text, leaves, written=True))

    def _delete(self, id: str) -> None:
        self.memories.pop(id, None)

    def _patch(self, person: str, field: str, value: str, rows: tuple[int, ...]) -> None:
        own = self.profiles.setdefault(person, {})
        own.pop(field, None)
        if value:
            own[field] = TextNode(value, rows, written=True)

    def _managed(self, rows: tuple[int, ...]) -> None:
        """Do what the manager proposes for an exchange."""
        schema = self._language.relations
        near = self._nearest(self._said[list(rows)].mean(0))
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
                    self._insert(one.content, rows)
                case Patch():
                    self._patch(one.person, str(one.field), one.value, rows)
                case Update() if near[one.number - 1] in self.memories:
                    self._update([near[one.number - 1]], one.content, rows)
                case Delete():
                    self._delete(near[one.number - 1])

    def _read(self, row: int) -> None:
        """Do what the trained reader finds of a passage."""
        *before, unit = units_of(self._passages[max(0, row - TURNS_BEFORE) : row + 1])
        turns = [] if unit.role == "document" else before
        (told,) = self._language.tasks.extract([unit], listeners=[""], before=[turns])
        for statement in told.statements:
            if self._language.relations[statement.relation].cardinality == "one" and not statement.past:
                self._stated(statement, row)
        near = self._nearest(self._said[row])
        units = [as_unit(self.memories[id], self._passages, "atomic_fact") for id in near]
        known = [ToldFact(id, own.text, own) for id, own in zip(near, units, strict=True)]
        new = [ToldFact("", sentence, replace(unit, text=sentence)) for sentence in told.sentences]
        done = self._language.tasks.operate([(one, known) for one in new]) if new else []
        for one, operation in zip(new, done, strict=True):
            ids = [id for id in operation.fact_ids if id in self.memories]
            if operation.action == "UPDATE" and ids:
                self._update(ids, one.text, (row,))
                continue
            if operation.action == "DELETE":
                for id in ids:
                    self._delete(id)
            if operation.action != "NOOP":
                self._insert(one.text, (row,))

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
        nodes = list(self.memories.values())
        known = said_by(nodes, self._passages, now)
        if not known:
            return Found((), ())
        vectors = torch.stack([self._vectors[id] for id in self.memories])[known]
        query = self._embedder.embed_query(question).cpu()
        order = [nodes[known[n]] for n in (vectors @ query).argsort(descending=True, stable=True).tolist()]
        leaves = ranked_leaves(order, self._said @ query)[:RANKED]
        read = [as_passage(node, self._passages) for node in order[: self._options.top_k]]
        return Found(read, [self._passages[row] for row in leaves])

    def store_bytes(self) -> int:
        """Of the memories and their vectors; messages are not kept."""
        texts = sum(len(node.text.encode()) for node in self.memories.values())
        return texts + sum(self._vectors[id].nbytes for id in self.memories)


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
