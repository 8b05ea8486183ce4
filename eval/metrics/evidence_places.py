"""Where the evidence of a hit stands, so that recall counts every kind of unit alike.

A ranking is a list of places: messages, or chunks where the evidence is parts of long messages. A chunk stands for
its place; a triple, an atomic fact or the summary of one message for its message (for the chunk of it that is nearest,
where places are chunks). Summaries of clusters say what many said: up to ten in a row are opened together, and of what
is below them the nearest to the question, that has no place yet, takes as many places as there are summaries. So ten
summaries have no more places than ten chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from sqlalchemy import Connection, select
from torch import Tensor

from eval.tasks.corpus import Span
from nscma_torch import Memory
from nscma_torch.core.records import Hit, Unit
from nscma_torch.episodic.index import packed_vectors, units
from nscma_torch.episodic.index.unit_schema import units as unit_table
from nscma_torch.hierarchy.store import hierarchies

OPENED = 10  # summaries in a row that are opened together


@dataclass(frozen=True)
class Places:
    """The chunks of one user, n of them in order, and what is counted as one place.

    Attributes:
        whole: whether a place is a message; if not, it is a chunk.
        chunks: where each stands.
        vectors: [n, d] of the chunks, zeros of those that are not embedded.
        texts: of the chunks, after the name of who said it, where somebody did.
        chunks_of: by the id of a message, its chunks.
        below: by the id of a summary, the chunks below it.
    """

    whole: bool
    chunks: Sequence[Span]
    vectors: Tensor
    texts: Sequence[str]
    chunks_of: Mapping[str, Sequence[int]]
    below: Mapping[str, Sequence[int]]

    def relevant(self, evidence: Sequence[Span]) -> set[int]:
        """The places of some evidence."""
        if self.whole:
            return {span.document for span in evidence}
        return {i for i, chunk in enumerate(self.chunks) if any(chunk.overlaps(span) for span in evidence)}

    def of_chunks(self, chunks: Iterable[int]) -> list[int]:
        """Distinct places of chunks, in their order."""
        return list(dict.fromkeys(self.chunks[i].document if self.whole else i for i in chunks))

    def ranked(self, hits: Sequence[Hit], question: Tensor, embed: Callable[[str], Tensor]) -> list[int]:
        """Distinct places of hits, best first. `question` is [d]; `embed` gives the vector [d] of a text."""
        order: dict[int, None] = {}
        for of_summaries, some in groupby(hits, lambda hit: hit.unit.id in self.below):
            if of_summaries:
                for run in _batches(list(some)):
                    order |= self._opened(run, question, order)
            else:
                order |= dict.fromkeys(place for hit in some for place in self._of(hit, embed))
        return list(order)

    def _opened(self, summaries: Sequence[Hit], question: Tensor, taken: Mapping[int, None]) -> dict[int, None]:
        members = sorted({chunk for hit in summaries for chunk in self.below[hit.unit.id]})
        order = torch.argsort(self.vectors[members] @ question, descending=True, stable=True).tolist()
        new = [place for place in self.of_chunks(members[i] for i in order) if place not in taken]
        return dict.fromkeys(new[: len(summaries)])

    def _of(self, hit: Hit, embed: Callable[[str], Tensor]) -> list[int]:
        own = [chunk for message in hit.unit.episode_ids for chunk in self.chunks_of[message]]
        if self.whole or not own:
            return self.of_chunks(own)
        if hit.unit.kind == "chunk":
            return [i for i in own if (self.chunks[i].start, self.chunks[i].end) == (hit.unit.start, hit.unit.end)]
        return [own[int((self.vectors[own] @ embed(hit.text)).argmax())]]


def _batches(summaries: Sequence[Hit]) -> Iterator[Sequence[Hit]]:
    for start in range(0, len(summaries), OPENED):
        yield summaries[start : start + OPENED]


def read(memory: Memory, user: str, place: Mapping[str, int], *, whole: bool) -> Places:
    """The places of a user; `place` numbers the messages, by their ids."""
    with memory.components.database.read(user) as connection:
        query = select(unit_table.c.seq).where(unit_table.c.user_id == user, unit_table.c.kind == "chunk")
        seqs = list(connection.execute(query.order_by(unit_table.c.seq)).scalars())
        found = units.load(connection, user, seqs)
        stored = packed_vectors.vectors_of(connection, seqs)
        row = {seq: i for i, seq in enumerate(seqs)}
        below = {summary: [row[seq] for seq in own] for summary, own in _below(connection, user).items()}
    chunks_of: dict[str, list[int]] = {}
    for seq in seqs:
        chunks_of.setdefault(found[seq].episode_ids[0], []).append(row[seq])
    chunks = [Span(place[found[seq].episode_ids[0]], found[seq].start, found[seq].end) for seq in seqs]
    none = np.zeros(memory.components.embedder.dimension, dtype=np.float32)
    vectors = torch.from_numpy(np.stack([stored.get(seq, none) for seq in seqs]))
    return Places(whole, chunks, vectors, [_as_said(found[seq]) for seq in seqs], chunks_of, below)


def _as_said(unit: Unit) -> str:
    return f"{unit.name}: {unit.text}" if unit.name and unit.role != "document" else unit.text


def _below(connection: Connection, user: str) -> dict[str, list[int]]:
    """By the id of each summary of a user, the chunks (row numbers) below it."""
    stored = hierarchies.load(connection, user, None)
    said = hierarchies.units_of(connection, stored.id)
    chunks: dict[hierarchies.NodeKey, set[int]] = {key: set(own) for key, own in said.items() if key[0] == 0}
    for level, network in enumerate(stored.levels[:-1]):
        for _, node, label in network.personas:
            chunks.setdefault((level + 1, label), set()).update(chunks.get((level, node), ()))
    summaries = {seq: key for key, own in said.items() if key[0] > 0 for seq in own}
    found = units.load(connection, user, list(summaries))
    return {found[seq].id: sorted(chunks[key]) for seq, key in summaries.items()}
