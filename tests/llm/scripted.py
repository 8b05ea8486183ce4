"""A language engine that answers by a function of the prompt, for tests of what asks one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nscma_torch.core.errors import EngineError
from nscma_torch.core.records import Hit, Scope, Unit
from nscma_torch.llm.engines.contract import Reply, Request, Turn

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)
Said = Mapping[str, Any] | str | EngineError


class ScriptedEngine:
    """Answers each prompt with what `reply` makes of its data; a token is four characters of the prompt.

    `batches` holds the requests of each call.
    """

    name = "scripted"

    def __init__(self, reply: Callable[[dict[str, Any]], Said], *, context: int = 8192) -> None:
        self.reply = reply
        self.context = context
        self.batches: list[list[Request]] = []
        self.closed = False

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        return [tokens_of(turns) for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        self.batches.append(list(requests))
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply | EngineError:
        assert tokens_of(request.turns) + request.max_tokens <= self.context
        said = self.reply(data_of(request.turns))
        if isinstance(said, EngineError):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return Reply(text, tokens_of(request.turns), 5, finished=True)

    def close(self) -> None:
        self.closed = True


def tokens_of(turns: Sequence[Turn]) -> int:
    return sum(len(turn.content) for turn in turns) // 4


def data_of(turns: Sequence[Turn] | Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The data block of a prompt: the one line after its head; for an answer, its "messages" and "asked"."""
    last = turns[-1]
    lines = (last.content if isinstance(last, Turn) else last["content"]).split("\n")
    if lines[0] == "Messages:":
        end = lines.index("")
        return {
            "messages": [json.loads(line) for line in lines[1:end]],
            "asked": lines[end + 1],
            "task": lines[end + 3],
        }
    (head,) = (i for i, line in enumerate(lines) if line.startswith("DATA ("))
    found: dict[str, Any] = json.loads(lines[head + 1])
    return found


def statement(subject: str, relation: str, object_: str, **more: Any) -> dict[str, Any]:
    """A statement as a model writes it."""
    plain = {"sentence": 1, "topic": "", "state": "holds", "replaces": ""}
    return {**plain, "subject": subject, "relation": relation, "object": object_, **more}


def extraction(*statements: dict[str, Any], notes: Sequence[tuple[int, str]] = ()) -> dict[str, Any]:
    """A whole reply."""
    return {"statements": list(statements), "notes": [{"sentence": n, "text": text} for n, text in notes]}


def unit(text: str, name: str = "Ludger", id_: str = "1") -> Unit:
    return Unit(id_, Scope("ada"), "chunk", text, (id_,), SAID, name=name)


def hit(text: str, score: float = 1.0, id_: str = "1") -> Hit:
    return Hit(unit(text, id_=id_), score)


def answering(text: str, *, known: bool = True) -> Callable[[dict[str, Any]], Said]:
    """What a model says that is asked for an answer: first if the messages contain it, then the answer."""
    return lambda data: {"contain_answer": known} if "contain" in data["task"] else {"short_answer": text}
