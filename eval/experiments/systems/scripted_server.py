"""An OpenAI-compatible server whose replies are a function of the request, and whose vectors are an embedder's."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from eval.harness.fake_chat_server import Asked, FakeChatServer, Said, completion, fake_chat_server, streamed
from nscma_torch.errors import EngineError
from nscma_torch.protocols import Embedder

Body = Mapping[str, Any]  # of a request for a chat completion
MODEL = "scripted"
CONTEXT = 200_000  # in bytes of a prompt, as prompts are counted where a server does not count: no prompt is cut
_SHOWN = 1500  # characters of a prompt that had no answer
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}  # nobody reads them


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a function that a reply is made of."""

    name: str
    arguments: Mapping[str, Any]


Written = str | Mapping[str, Any] | Sequence[ToolCall]  # a text, the JSON of a form, or calls of tools
Script = Callable[[Body], Written]


@dataclass(frozen=True, slots=True)
class ScriptedServer:
    """A running server.

    Attributes:
        failures: what the script raised so far; a package may say nothing of a reply that it did not get.
    """

    served: FakeChatServer
    failures: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """With `/v1`."""
        return f"{self.served.url}/v1"

    @property
    def calls(self) -> int:
        """Chat completions so far."""
        return sum(one.path.endswith("/chat/completions") for one in self.served.asked)


@contextmanager
def scripted_server(script: Script, embedder: Embedder) -> Iterator[ScriptedServer]:
    """A server on a free port of the loopback.

    A text is streamed where that is asked for.
    A prompt that the script has no reply to is answered with status 400; EngineError at the end names the first one.
    """
    failures: list[str] = []

    def answer(asked: Asked) -> Said:
        if asked.path.endswith("/embeddings"):
            return _vectors(asked.json, embedder)
        try:
            return _written(script(asked.json), stream=bool(asked.json.get("stream")))
        except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:
            failures.append(f"{type(error).__name__}: {error}; the prompt ends {prompt_of(asked.json)[-_SHOWN:]!r}")
            told = {"error": {"message": failures[-1], "type": "script", "code": None}}
            return Said([json.dumps(told).encode()], status=400, length=True)

    with fake_chat_server(answer) as served:
        try:
            yield ScriptedServer(served, failures)
        finally:
            if failures:
                raise EngineError(failures[0])


def prompt_of(body: Body) -> str:
    """The texts of all turns, one under the other."""
    return "\n".join(_text(turn["content"]) for turn in body["messages"] if turn.get("content"))


def form_of(body: Body) -> str:
    """Title of the JSON schema that the reply is to follow, "" where there is none."""
    wanted = body.get("response_format") or {}
    schema = wanted.get("json_schema", {})
    return str(schema.get("schema", {}).get("title") or schema.get("name") or "")


def between(text: str, before: str, after: str) -> str:
    """What stands between two marks, of the first the last one; ValueError where they are not there."""
    start = text.rindex(before) + len(before)
    return text[start : text.index(after, start)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _written(reply: Written, *, stream: bool) -> Said:
    if isinstance(reply, str):
        if stream:
            return streamed([reply])
        return completion(reply, usage=_USAGE)
    if isinstance(reply, Mapping):
        return completion(json.dumps(reply), usage=_USAGE)
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for number, call in enumerate(reply)
    ]
    return completion("", tool_calls=calls, usage=_USAGE)


def _vectors(body: Body, embedder: Embedder) -> Said:
    texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
    vectors = [embedder.embed([text])[0].float().cpu().numpy() for text in texts]
    encoded = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": number,
            "embedding": base64.b64encode(own.tobytes()).decode() if encoded else own.tolist(),
        }
        for number, own in enumerate(vectors)
    ]
    told = {"object": "list", "model": MODEL, "data": data, "usage": _USAGE}
    return Said([json.dumps(told).encode()], length=True)
