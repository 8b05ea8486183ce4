"""The proxy in front of a chat server without a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from httpx2 import Response  # what Starlette's client answers with
from starlette.testclient import TestClient

from nscma_torch.api.memory import Memory
from nscma_torch.server.proxy import routes
from nscma_torch.server.tokens import TokenFile
from tests.helpers.fake_chat_server import Asked, FakeChatServer, Said, completion, fake_chat_server
from tests.server.conftest import Served, serving

CHAT = "/v1/chat/completions"


@dataclass
class Proxied:
    """A server with the proxy, and what is behind it."""

    served: Served
    upstream: FakeChatServer

    @property
    def memory(self) -> Memory:
        return self.served.memory

    @property
    def client(self) -> TestClient:
        return self.served.client

    def chat(self, *messages: dict[str, Any], headers: dict[str, str] | None = None, **more: Any) -> Response:
        """Ask for a completion of these messages."""
        answer: Response = self.client.post(CHAT, json={"model": "m", "messages": messages, **more}, headers=headers)
        return answer

    def sent(self) -> list[dict[str, Any]]:
        """The messages that the model's server got last."""
        messages: list[dict[str, Any]] = self.upstream.asked[-1].json["messages"]
        return messages

    def stored(self, user: str = "default") -> list[tuple[str, str]]:
        """Role and text of all messages of a user."""
        return [(one.role, one.text) for one in self.memory.get_all(user_id=user, limit=None)]


def echo(asked: Asked) -> Said:
    """Says how many messages it got."""
    return completion(f"I read {len(json.loads(asked.body)['messages'])} messages.")


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.fixture
def proxied(
    open_memory: Callable[..., Memory], light_surprise: Any, tmp_path: Path
) -> Iterator[Callable[..., Proxied]]:
    """`proxied(answer, {…}, key=…)`: the proxy before a server that so answers, with such a section [upstream]."""
    with ExitStack() as stack:

        def make(
            answer: Callable[[Asked], Said] = echo,
            upstream: dict[str, Any] | None = None,
            key: str | None = None,
            floor: float = -1.0,  # the light embedder knows no meanings
        ) -> Proxied:
            config = {"upstream": upstream or {}, "retrieval": {"floor": floor}}
            memory = open_memory(config=config, surprise_model=light_surprise)
            behind = stack.enter_context(fake_chat_server(answer))
            made = stack.enter_context(
                serving(memory, tmp_path / "tokens", route_groups=[routes.route_group(behind.url, key)])
            )
            return Proxied(made, behind)

        yield make


def tokens_of(proxied: Proxied) -> TokenFile:
    return proxied.served.tokens
