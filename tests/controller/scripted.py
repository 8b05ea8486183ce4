"""A language engine whose replies a test writes: it counts tokens, keeps requests, and spells log-probabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.contract import Reply, Request, Token, Turn

_TOKEN = re.compile(r"[A-Za-z]{1,6}|\d|\s+|.", re.DOTALL)
Script = Callable[[str, Mapping[str, Any], Request], Any]


class ScriptedEngine:
    """A `LanguageEngine` that asks `script` for each reply.

    Args:
        script: gets the name of the form, what the prompt shows (see `quoted_in`), and the request; returns the object
            to reply with, a text, a whole `Reply`, or an error.
        logprob: of each token of a reply.
    """

    name = "scripted"

    def __init__(self, script: Script, *, context: int = 8192, logprob: float = -0.01) -> None:
        self.script = script
        self.context = context
        self.logprob = logprob
        self.requests: list[Request] = []
        self.spent: list[int] = []  # tokens of prompt and most of the reply, request by request

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        return [8 + sum(4 + len(_TOKEN.findall(turn.content)) for turn in turns) for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        return [self._reply(request) for request in requests]

    def close(self) -> None:
        self.requests.clear()

    def forms(self) -> list[str]:
        """Names of the forms that were asked for."""
        return [form_of(request) for request in self.requests]

    def _reply(self, request: Request) -> Reply | EngineError:
        self.requests.append(request)
        (prompt,) = self.count_tokens([request.turns])
        self.spent.append(prompt)
        assert prompt + request.max_tokens <= self.context, "the engine could not have read this"
        said = self.script(form_of(request), quoted_in(request), request)
        if isinstance(said, Reply | EngineError):
            return said
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        pieces = _TOKEN.findall(text)
        tokens = tuple(Token(piece, self.logprob) for piece in pieces) if request.logprobs else ()
        return Reply(text, prompt, len(pieces), True, tokens)


def form_of(request: Request) -> str:
    """Name of the form that a request asks for."""
    assert request.schema is not None, "the controller asks for forms alone"
    return str(request.schema["title"])


def quoted_in(request: Request) -> dict[str, Any]:
    """The data that a prompt quotes, read as JSON, and what the user says now under `said`.

    A prompt for the answer to a question has `lines`, and the question under `said`. The prompt that rewords a reply
    has the question, the `reply`, and its `task`.
    """
    head, data, *rest = request.turns[-1].content.split("\n")
    if head == "Messages:":
        lines, asked, *_ = "\n".join([data, *rest]).split("\n\n")
        said = json.loads(f'"{asked.partition(" asks: ")[2]}"')
        return {"lines": [json.loads(line) for line in lines.split("\n")], "said": said}
    if head.startswith("Question: "):
        question, reply = (json.loads(line.partition(": ")[2]) for line in (head, data))
        return {"said": question, "reply": reply, "task": "\n".join(rest)}
    quoted: dict[str, Any] = json.loads(data)
    said = next((line for line in rest if line.startswith("The user says now: ")), None)
    return quoted if said is None else {**quoted, "said": json.loads(said.partition(": ")[2])}


def act(action: str, **arguments: Any) -> dict[str, Any]:
    """A step."""
    return {"act": {"action": action, **arguments}}


def answering(form: str, quoted: Mapping[str, Any], word: str, reply: str | None = None) -> dict[str, Any] | None:
    """The reply to a form about a question whose answer is the line with this word; None for any other prompt.

    The answer is that line, or `reply`.
    """
    telling = [line for line in quoted.get("lines", ()) if word in line]
    match form if "lines" in quoted else "":
        case "ContainedForm":
            return {"contain_answer": bool(telling)}
        case "ShortAnswerForm":
            return {"short_answer": reply or telling[0]}
        case "TextForm":
            return {"text": reply or telling[0]}
    return None
