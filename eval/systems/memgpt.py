"""MemGPT (Packer et al. 2023, "MemGPT: Towards LLMs as Operating Systems", section 2).

The main context holds a working context (two blocks that functions alone write) and a FIFO queue of messages with a
recursive summary at its head (2.1). The queue manager puts every message into recall storage, too; at 70 % of the
context it warns of memory pressure, so that the processor can save what matters to the working context or to archival
storage; at 100 % it flushes: half of the queue leaves, and a new summary is written of the old one and of what left
(2.2). The processor edits its memory and searches storage by functions, page by page, and chains calls by heartbeats
(2.3, 2.4; `memgpt_functions`). Documents are in archival storage from the start, as in the paper's document analysis.

Ours beside the paper: the processor is asked when there is memory pressure, and for a question, not for every message,
as there is nobody to reply to; `steps` bounds its calls. Its own instructions and the results of functions do not count
as context; of earlier calls a prompt shows the calls alone. A question gets no functions that write, since asking
changes no later answer, and the run's reader reads what was paged in, the working context, the summary and the queue.
Recall storage is searched by BM25, where the authors' code looks for the query's letters.

Without an engine a fixed policy of ours does what the functions do. Under pressure the sentences that tell most go to
archival storage and what the speakers like or care for to the block "human", from which the oldest lines go when it is
full; summaries are extracted. A question brings the first page of both searches, and further pages as long as no
message holds enough of its words, weighed by their rarity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems import memgpt_functions as functions
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED
from eval.systems.language import Language, units_of
from eval.systems.memgpt_functions import Block
from eval.systems.memgpt_storage import Storage
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, as_passage, ranked_leaves, rows_by
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder

_SUMMARIZE = (
    "Write the summary of a conversation so far. The first text is the summary of what came before, where there is "
    "one; the others are the messages after it, which are about to be forgotten."
)
_SHOWN = 2  # calls whose results a prompt shows


class MemGPTOptions(Section):
    """Options of kind memgpt."""

    context: int = Field(4096, gt=0, description="Tokens of the main context, as the embedder counts them.")
    warning: float = Field(0.7, gt=0, le=1, description="Share of the context from which there is memory pressure.")
    evicted: float = Field(0.5, gt=0, le=1, description="Share of the queue's tokens that a flush takes out.")
    words: int = Field(200, gt=0, description="Longest summary in words.")
    block: int = Field(2000, gt=0, description="Characters of a block of the working context.")
    page: int = Field(5, gt=0, description="Results of one page of a search.")
    steps: int = Field(5, gt=0, description="Most calls in a chain; without an engine most pages of each search.")
    enough: float = Field(0.6, ge=0, le=1, description="Share of a question's words that ends the paging, no engine.")


class MemGPT:
    """The memory of one sample.

    Attributes:
        core: the blocks of the working context.
        summary: the recursive one, of the messages up to the last that was evicted.
        queue: rows of the messages in the context.
        storage: recall and archival storage.
    """

    def __init__(self, language: Language, embedder: Embedder, options: MemGPTOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self.storage = Storage((), embedder)
        self._sizes: list[int] = []
        self.core: dict[Block, str] = {"persona": "", "human": ""}
        self._edited = 0  # newest row when the working context was written last
        self.summary = TextNode("", (), written=True)
        self.queue: list[int] = []

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in the messages one by one, warning and flushing on the way."""
        self._passages = passages
        self.storage = Storage(passages, self._embedder)
        self._sizes = self._embedder.count_tokens(self.storage.texts)
        warned = False
        for row in self.storage.talk:
            self.queue.append(row)
            if not warned and self.used > self._options.warning * self._options.context:
                warned = True
                self._save()
            if self.used > self._options.context:
                self._flush()
                warned = False

    @property
    def used(self) -> int:
        """Tokens of the main context."""
        beside = self._embedder.count_tokens([*self.core.values(), self.summary.text])
        return sum(beside) + sum(self._sizes[row] for row in self.queue)

    def _flush(self) -> None:
        """Evict the oldest messages of the queue into the summary; the newest one stays."""
        to_go = self._options.evicted * sum(self._sizes[row] for row in self.queue)
        leaving: list[int] = []
        while len(self.queue) > 1 and sum(self._sizes[row] for row in leaving) < to_go:
            leaving.append(self.queue.pop(0))
        if leaving:
            old = self.summary.text.replace("\n", "\n\n")  # each line of an extracted one is a sentence
            texts = [*filter(None, [old]), *(self.storage.texts[row] for row in leaving)]
            (text,) = self._language.summaries([texts], _SUMMARIZE, words=self._options.words)
            self.summary = TextNode(text, (leaving[-1],), written=True)

    def _save(self) -> None:
        """Save what matters of the queue, under memory pressure."""
        if self._language.engine is not None:
            results: list[dict[str, Any]] = []
            for _ in range(self._options.steps):
                data = self._shown(results, set(range(self.queue[-1] + 1)))
                (form,) = self._language.fill(functions.ReadingForm, self._told(functions.READING), [data])
                results.append({"call": form.call.model_dump(), "result": self._done(form.call)})
                if not form.call.request_heartbeat:
                    break
            return
        units = [units_of(self._passages[row : row + 1])[0] for row in self.queue]
        (told,) = self._language.tasks.lines("daily_summary", [units], self._options.words)
        sources = [tuple(self.queue[place] for place in line.sources) for line in told]
        self.storage.insert([TextNode(one.text, own, written=True) for one, own in zip(told, sources, strict=True)])
        people = dict.fromkeys(unit.name for unit in units)
        said = [[one for one in units if one.name == name] for name in people]
        found = self._language.tasks.lines("daily_insight", said)
        for line in dict.fromkeys(line.text for own in found for line in own):
            if line not in self.core["human"]:
                self._remember(line)

    def _remember(self, line: str) -> None:
        """Append to the block "human", where the oldest lines make room."""
        lines = [*self.core["human"].splitlines(), line]
        while len(lines) > 1 and len("\n".join(lines)) > self._options.block:
            lines.pop(0)
        self._write("human", "\n".join(lines))

    def _write(self, block: Block, text: str) -> str:
        if len(text) > self._options.block:
            return f"refused: {block} would have {len(text)} of {self._options.block} characters"
        self.core[block], self._edited = text, self.queue[-1]
        return "done"

    def _done(self, call: Any) -> Any:
        """Do what a call asks for while reading; what the processor is told of it."""
        match call:
            case functions.CoreMemoryAppend():
                return self._write(call.name, "\n".join(filter(None, (self.core[call.name], call.content))))
            case functions.CoreMemoryReplace() if call.old_content not in self.core[call.name]:
                return f"refused: {call.name} does not hold these words"
            case functions.CoreMemoryReplace():
                return self._write(call.name, self.core[call.name].replace(call.old_content, call.new_content, 1))
            case functions.ArchivalMemoryInsert():
                self.storage.insert([TextNode(call.content, tuple(self.queue), written=True)])
                return "done"
            case _:
                return [node.text for node in self._searched(call, set(range(self.queue[-1] + 1)))]

    def _searched(self, call: functions.Search, known: set[int]) -> list[TextNode]:
        """The page of a search, of what was said in the rows known."""
        recall = isinstance(call, functions.ConversationSearch)
        found = (self.storage.recalled if recall else self.storage.archived)(call.query, known)
        start = call.page * self._options.page
        return found[start : start + self._options.page]

    def find(self, question: str, now: datetime) -> Found:
        """What was paged in for the question, then the main context."""
        known = rows_by(self._passages, now)
        found = self._paged(question, known) if self._language.engine is None else self._called(question, known)
        queue = [TextNode(self.storage.texts[row], (row,)) for row in reversed(self.queue) if row in known]
        core = TextNode("\n".join(filter(None, self.core.values())), (self._edited,), written=True)
        texts = [node for node in (core, self.summary) if node.text and known.issuperset(node.leaves)]
        recalled, archived = self.storage.recalled(question, known), self.storage.archived(question, known)
        nearest = torch.zeros(len(self._passages))
        for place, node in enumerate(recalled):
            nearest[node.leaves[0]] = len(recalled) - place
        leaves = ranked_leaves([*found, *recalled, *archived, *queue], nearest)[:RANKED]
        read = dict.fromkeys([*found, *texts, *queue])
        return Found([as_passage(node, self._passages) for node in read], [self._passages[row] for row in leaves])

    def _called(self, question: str, known: set[int]) -> list[TextNode]:
        """What the processor pages in."""
        found: dict[TextNode, None] = {}
        results: list[dict[str, Any]] = []
        for _ in range(self._options.steps):
            data = {**self._shown(results, known), "question": question}
            (form,) = self._language.fill(functions.AskingForm, self._told(functions.ASKING), [data])
            if isinstance(form.call, functions.SendMessage):
                break
            nodes = self._searched(form.call, known)
            found |= dict.fromkeys(nodes)
            results.append({"call": form.call.model_dump(), "result": [node.text for node in nodes]})
            if not form.call.request_heartbeat:
                break
        return list(found)

    def _paged(self, question: str, known: set[int]) -> list[TextNode]:
        """What the policy pages in."""
        found: dict[TextNode, None] = {}
        size = self._options.page
        both = self.storage.recalled(question, known), self.storage.archived(question, known)
        for page in range(self._options.steps):
            for order in both:
                found |= dict.fromkeys(order[page * size : (page + 1) * size])
            if self.storage.covered(question, list(found), known) >= self._options.enough:
                break
        return list(found)

    def _told(self, instructions: str) -> str:
        return instructions.format(limit=self._options.block, page=self._options.page)

    def _shown(self, results: Sequence[Mapping[str, Any]], known: set[int]) -> dict[str, Any]:
        """The main context as the processor sees it, without what was said in other rows than those known."""
        return {
            "core_memory": self.core if self._edited in known else {},
            "summary": self.summary.text if known.issuperset(self.summary.leaves) else "",
            "messages": [self.storage.texts[row] for row in self.queue if row in known],
            "texts_in_archival_storage": len(self.storage.archive),
            "calls_before": [result["call"] for result in results[:-_SHOWN]],
            "results": results[-_SHOWN:],
        }

    def store_bytes(self) -> int:
        """Of texts and vectors."""
        kept = sum(len(text.encode()) for text in (*self.core.values(), self.summary.text))
        return kept + text_bytes(self._passages) + self.storage.nbytes


def make_memgpt(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind memgpt."""
    options = options_of(MemGPTOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(MemGPT(Language(shared, engine), shared.embedder, options)),
    )
