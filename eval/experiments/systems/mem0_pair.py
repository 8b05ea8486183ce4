"""mem0: the package, with the operations of its paper (1.x) or without (2.x), and `eval.systems.mem0_operations`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.experiments.systems.comparison import Outcome
from eval.experiments.systems.our_run import data_of, our_run, texts_found
from eval.experiments.systems.package_run import run_on_conversation
from eval.experiments.systems.scripted_conversation import TOP_K, Told, decided, fact_of, told_in
from eval.experiments.systems.scripted_server import Body, Written, between
from eval.systems.mem0_operations import Mem0, Mem0Options
from nscma_torch.protocols import Embedder

_FENCE = "```"


class TheirScript:
    """Answers mem0's prompts.

    Attributes:
        decisions: what was done with facts, by kind.
    """

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()

    def __call__(self, body: Body) -> Written:
        """The reply to a prompt of mem0 1.x (facts, then operations on all of them) or 2.x (facts alone)."""
        prompt = str(body["messages"][-1]["content"])
        if "## New Messages" in prompt:
            facts = told_in(between(prompt, "## New Messages", "## Observation Date"))
            self.decisions["ADD"] += len(facts)
            return {"memory": [{"id": str(n), "text": fact.text} for n, fact in enumerate(facts)]}
        if "The new retrieved facts are mentioned" in prompt:
            return {"memory": self._operations(prompt)}
        return {"facts": [fact.text for fact in told_in(prompt)]}

    def _operations(self, prompt: str) -> list[dict[str, Any]]:
        *before, _, facts, _ = prompt.split(_FENCE)
        memories = [] if "Current memory is empty." in prompt else ast.literal_eval(before[-1].strip())
        texts = [one["text"] for one in memories]
        return [self._operation(fact_of(fact), memories, texts) for fact in ast.literal_eval(facts.strip())]

    def _operation(self, fact: Told, memories: Sequence[Mapping[str, str]], texts: Sequence[str]) -> dict[str, Any]:
        action, place = decided(fact, texts)
        self.decisions[action] += 1
        if action == "ADD":
            return {"id": str(len(memories)), "text": fact.text, "event": "ADD"}
        event = "NONE" if action == "NOOP" else action
        text = fact.new if action == "UPDATE" else texts[place]
        return {"id": memories[place]["id"], "text": text, "event": event, "old_memory": texts[place]}


class OurScript:
    """Answers the prompts of `mem0_operations`; a summary says nothing."""

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()

    def __call__(self, body: Body) -> Written:
        """The facts of an exchange, the call on one, or a summary."""
        data = data_of(body)
        if "exchange" in data:
            return {"facts": [fact.text for fact in told_in("\n".join(data["exchange"]))]}
        if "fact" not in data:
            return "A conversation of Rita and Tom."
        fact = fact_of(data["fact"])
        action, place = decided(fact, list(data["memories"].values()))
        self.decisions[action] += 1
        call: dict[str, Any] = {"tool": action}
        if action in ("UPDATE", "DELETE"):
            call["number"] = place + 1
        if action == "UPDATE":
            call["text"] = fact.new
        return {"call": call}


def theirs(python: Path, embedder: Embedder) -> Outcome:
    """The package."""
    script = TheirScript()
    told, calls = run_on_conversation(python, "mem0_package.py", script, embedder)
    return Outcome(f"mem0ai {told['version']}", told["items"], told["ranked"], script.decisions, calls)


def ours(embedder: Embedder) -> Outcome:
    """Our implementation; the first fact meets an empty store, where no model is asked."""
    script = OurScript()
    with our_run(script, embedder) as (run, calls):
        own = Mem0(run.language, run.embedder, Mem0Options(top_k=TOP_K))
        own.keep(run.passages)
        ranked = texts_found(own)
    items = [node.text for node in own.store.memories.values()]
    return Outcome("mem0-operations", items, ranked, script.decisions, calls[0])
