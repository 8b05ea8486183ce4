"""NSCMA: the controller over a memory, and by its options every ablation of it.

Questions are considered, not turned: nothing of them is stored, so that no question changes a later answer. A question
that is not worded as one ("Summarize the discussion about …") is looked up all the same; in a conversation the embedded
policy would take note of it. Where a question has options, the memory finds and the run's reader chooses, for neither
the controller nor `Memory.ask` knows of options.

    answering       who answers: the controller, `Memory.ask` (one retrieval), or the run's reader from one retrieval
    working_memory  whether the questions go on with the conversation that was read, its end in the controller's active
                    context and the rest in its rolling summary; by default they are a conversation of their own, later
    graph, curator, notes   false: ablations, see `eval.systems.memories`
    config          sections of the memory's configuration; the other ablations are made of them:
                    no buffer gate.rule = "everything", the paper's gate gate.rule = "paper",
                    no hierarchy hierarchy.enabled = false, no overlapping clusters hierarchy.overlapping = false,
                    CAM's retrievals retrieval.strategy = "traversal" | "global" | "prune-and-grow"
    flush_every, rebuild   CAM online, CAM offline
    user            who asks: "I" in a question is the speaker of this name
    retrieved       places of that many results of a search follow the answer's own as evidence, for recall alone: what
                    it takes is not counted; behind what the reader was given, of a single-step search
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Cost, Reply, Shared
from eval.systems.costs import Meter, together
from eval.systems.documents import RANKED
from eval.systems.memories import RUN, MemoryOptions, MemorySystem, Remembered, setup_of
from eval.systems.options import options_of
from nscma_torch.controller.controller import Controller
from nscma_torch.controller.trace import ControllerAnswer
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.records import Answer, Message
from nscma_torch.reading.turn_forms import asks


class NscmaOptions(MemoryOptions):
    """Options of kind nscma."""

    answering: Literal["controller", "ask", "reader"] = Field("controller", description="Who answers.")
    top_k: int = Field(10, gt=0, description="Results that `ask` and the reader are given.")
    retrieved: int = Field(RANKED, ge=0, description="Results whose places follow the answer's own as evidence.")


class NscmaSession:
    """A memory, `own`, and its controller."""

    def __init__(self, own: Remembered, options: NscmaOptions, shared: Shared, llm: LlmConfig) -> None:
        self.own = own
        self._options = options
        self._shared = shared
        run = RUN if options.working_memory else "questions"
        self._controller = Controller(own.memory, own.engine, user_id=own.user, run_id=run, llm=llm)

    def read(self, messages: Sequence[Message]) -> Cost:
        """Store the messages and work them off; then the controller makes its summary of what left its context."""
        cost = self.own.read(messages)
        if self._options.answering != "controller":
            return cost
        meter = Meter(self.own.engine)
        with meter.stage("summary"):
            self._controller.working_memory(now=self.own.newest)
        return together(cost, meter.cost())

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Answer, storing nothing."""
        if options or self._options.answering == "reader":
            return self._read(question, options, now)
        meter = Meter(self.own.engine)
        answer: Answer | ControllerAnswer
        with meter.stage("ask"):
            if self._options.answering == "ask":
                answer = self.own.memory.ask(question, user_id=self.own.user, top_k=self._options.top_k, now=now)
            else:
                answer = self._controller.consider(question, threshold=None if asks(question) else 0.0, now=now)
        cost = meter.cost()
        rests_on = self.own.places([item.hit for item in answer.evidence])
        return Reply(
            "" if answer.abstained else answer.short,
            answer.abstained,
            tuple(dict.fromkeys((*rests_on, *self._searched(question, now)))),
            answer.confidence,
            cost,
        )

    def _read(self, question: str, options: Sequence[str], now: datetime) -> Reply:
        meter = Meter(self.own.engine)
        with meter.stage("retrieve"):
            hits = self.own.memory.search(question, user_id=self.own.user, top_k=self._options.top_k, now=now)
        passages = self.own.passages(hits)
        reply = self._shared.reader.answer(question, passages, options=options, now=now)
        cost = together(meter.cost(), reply.cost)
        ranked = self.own.ranked(question, hits, self._shared.embedder)
        evidence = tuple(dict.fromkeys((*ranked, *self._searched(question, now, "single-step"))))
        return replace(reply, evidence=evidence, cost=cost)

    def _searched(self, question: str, now: datetime, strategy: str | None = None) -> tuple[int, ...]:
        return self.own.searched(question, now, self._shared, self._options.retrieved, strategy=strategy)

    def store_bytes(self) -> int:
        """Of the database's files."""
        return self.own.store_bytes()


def make_nscma(section: Mapping[str, Any], shared: Shared) -> MemorySystem:
    """Kind nscma."""
    return nscma(section["name"], options_of(NscmaOptions(), section), shared)


def nscma(name: str, options: NscmaOptions, shared: Shared) -> MemorySystem:
    """The system that these options make."""
    setup = setup_of(options, shared, {})
    return MemorySystem(name, options, setup, shared, lambda own: NscmaSession(own, options, shared, setup.llm))
