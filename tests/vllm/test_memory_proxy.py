"""The memory proxy in front of a real vLLM: each request begins as the one before it, so its prefix is cached."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi import FastAPI
from starlette.testclient import TestClient

from nscma_torch.api.memory import Memory
from nscma_torch.server import problems
from nscma_torch.server.access import Authenticator, AuthMiddleware
from nscma_torch.server.app_context import AppContext, ServerSettings
from nscma_torch.server.proxy import routes
from nscma_torch.server.proxy.block_text import OPEN
from nscma_torch.server.tokens import TokenFile
from nscma_torch.server.work import CallPool

pytestmark = pytest.mark.vllm

CACHE_BLOCK = 128  # tokens; vLLM keeps whole blocks, on a CPU of this size
SYSTEM = {"role": "system", "content": "You speak kindly and briefly, and you name your sources. " * 30}
TURN = {"role": "user", "content": "Where does my sister Marta work? " * 10}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


@pytest.fixture
def proxy(
    server: tuple[str, subprocess.Popen[bytes]], open_memory: Callable[..., Memory], light_surprise: Any, tmp_path: Path
) -> Iterator[TestClient]:
    """The proxy in an application of its own: vLLM pins another FastAPI than the server has."""
    memory = open_memory(surprise_model=light_surprise)
    for text in ("My sister Marta works at the harbour in Porto.", "Marta has a boat, the Miso, and a dog."):
        memory.add(text, user_id="default")
    context = AppContext(memory, ServerSettings(tmp_path / "tokens"), CallPool(2, 8), CallPool(1, 1))
    made = routes.route_group(server[0])(context)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        assert made.lifespan is not None
        async with made.lifespan():
            yield
        context.close()

    app = FastAPI(lifespan=lifespan)
    app.state.context = context
    problems.install(app)
    app.include_router(*made.routers)
    app.add_middleware(
        AuthMiddleware, access=Authenticator(TokenFile(tmp_path / "tokens"), default="default"), public=()
    )
    with TestClient(app, "http://127.0.0.1:8765", client=("127.0.0.1", 50_000)) as client:
        yield client


def asked(client: TestClient, *messages: dict[str, Any]) -> tuple[dict[str, Any], int, int, Any]:
    """The reply, tokens of the prompt, those of them that were in the cache, and the headers."""
    body = {"model": "tiny", "messages": messages, "max_tokens": 8, "temperature": 0}
    got = client.post("/v1/chat/completions", json=body)
    assert got.status_code == 200, got.text
    usage = got.json()["usage"]
    cached = (usage["prompt_tokens_details"] or {}).get("cached_tokens") or 0
    return got.json()["choices"][0]["message"], usage["prompt_tokens"], cached, got.headers


def test_the_prefix_cache_survives(proxy: TestClient) -> None:
    reply, whole, first_cached, headers = asked(proxy, SYSTEM, TURN)
    assert headers["x-nscma-memory"] == "recalled" and OPEN not in str(reply)
    _, bare, _, _ = asked(proxy, SYSTEM, {"role": "assistant", "content": TURN["content"]})  # as long, without a block
    block = whole - bare
    assert block > CACHE_BLOCK and first_cached == 0
    tools = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    _, _, with_tools, _ = asked(proxy, SYSTEM, TURN, tools, result)
    said = {"role": "assistant", "content": reply["content"] or "yes"}
    _, _, next_turn, headers = asked(proxy, SYSTEM, TURN, said, {"role": "user", "content": "And Marta's boat?"})
    print(f"prompt {whole}, of it block {block}; cached: tools {with_tools}, next turn {next_turn}")
    assert headers["x-nscma-memory"] == "nothing"  # both messages stand in the block of the first turn already
    assert with_tools > whole - CACHE_BLOCK - 8
    assert next_turn > whole - CACHE_BLOCK - 8 > bare
