"""LangMem: the SDK, and `eval.systems.langmem`. No profile is patched: the SDK's default schema is a single memory."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.experiments.systems.comparison import Outcome
from eval.experiments.systems.our_run import data_of, our_run, texts_found
from eval.experiments.systems.package_run import run_on_conversation
from eval.experiments.systems.scripted_conversation import TOP_K, Told, decided, told_in
from eval.experiments.systems.scripted_server import Body, ToolCall, Written, prompt_of
from eval.systems.langmem import LangMem, LangMemOptions
from nscma_torch.protocols import Embedder

_INSTANCE = re.compile(r'<instance id=(\S+) schema_type="Memory">\n(.*?)\n</instance>', re.DOTALL)
_SESSION = re.compile(r"<session_.*?>(.*?)</session_", re.DOTALL)


class TheirScript:
    """Answers the manager of the SDK with calls of its tools.

    Attributes:
        decisions: what was done with facts, by kind.
    """

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()

    def __call__(self, body: Body) -> Written:
        """The calls for an exchange."""
        prompt = prompt_of(body)
        existing = [(id, str(ast.literal_eval(value)["content"])) for id, value in _INSTANCE.findall(prompt)]
        (session,) = _SESSION.findall(prompt)
        return [call for fact in told_in(session) for call in self._call(fact, existing)]

    def _call(self, fact: Told, existing: Sequence[tuple[str, str]]) -> list[ToolCall]:
        action, place = decided(fact, [text for _, text in existing])
        self.decisions[action] += 1
        if action == "ADD":
            return [ToolCall("Memory", {"content": fact.text})]
        if action == "NOOP":
            return []
        id = existing[place][0]
        if action == "DELETE":
            return [ToolCall("RemoveDoc", {"json_doc_id": id})]
        patch = {"op": "replace", "path": "/content", "value": fact.new}
        return [ToolCall("PatchDoc", {"json_doc_id": id, "planned_edits": "The content.", "patches": [patch]})]


class OurScript:
    """Answers the prompts of our manager."""

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()

    def __call__(self, body: Body) -> Written:
        """The operations for an exchange."""
        data = data_of(body)
        memories = list(data["memories"].values())
        return {
            "operations": [one for fact in told_in("\n".join(data["exchange"])) for one in self._done(fact, memories)]
        }

    def _done(self, fact: Told, memories: Sequence[str]) -> list[dict[str, Any]]:
        action, place = decided(fact, memories)
        self.decisions[action] += 1
        match action:
            case "ADD":
                return [{"operation": "insert", "content": fact.text}]
            case "UPDATE":
                return [{"operation": "update", "number": place + 1, "content": fact.new}]
            case "DELETE":
                return [{"operation": "delete", "number": place + 1}]
        return []


def theirs(python: Path, embedder: Embedder) -> Outcome:
    """The SDK."""
    script = TheirScript()
    told, calls = run_on_conversation(python, "langmem_package.py", script, embedder)
    return Outcome(f"langmem {told['version']}", told["items"], told["ranked"], script.decisions, calls)


def ours(embedder: Embedder) -> Outcome:
    """Our implementation."""
    script = OurScript()
    with our_run(script, embedder) as (run, calls):
        own = LangMem(run.language, run.embedder, LangMemOptions(top_k=TOP_K))
        own.keep(run.passages)
        ranked = texts_found(own)
    return Outcome("langmem", [node.text for node in own.memories.values()], ranked, script.decisions, calls[0])
