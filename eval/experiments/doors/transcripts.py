"""What a user of each door sees, printed from real runs of `nscma serve` and `nscma mcp`.

    python -m eval.experiments.doors.transcripts --vllm PYTHON     # starts a vLLM with a tiny random model
    python -m eval.experiments.doors.transcripts --upstream http://127.0.0.1:8000 --model NAME

Five parts: a chat client behind the memory proxy, in two conversations, with the prompt's tokens beside those of the
same question to the model alone; a session of the Model Context Protocol over HTTP with the same server; one on
stdio after that server has stopped, with the same store; a LangGraph agent; and with `--mem0 WHEEL` (from `pip
download --no-deps mem0ai`) the first example of mem0's own description, which needs `pip install openai`, and of
another server a model of the name that it asks for. What a random model replies means nothing, and is cut short.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from eval.experiments.doors import frameworks
from eval.harness.tiny_llama import build
from eval.harness.vllm_server import vllm_server

TOLD = ("My sister Marta works at the harbour in Porto.", "I am allergic to nuts, by the way.")
ASKED = ("Where does my sister work?", "Which food should I avoid?")
SHOWN = 60  # characters of a reply
OPTIONS = ("--served-model-name", "tiny", frameworks.MODEL, "--override-generation-config", '{"max_new_tokens": 16}')


@contextmanager
def serving(store: Path, upstream: str) -> Iterator[str]:
    """`nscma serve` in front of a model server, on a free port; gives its address."""
    words = ["serve", "--store", str(store), "--port", "0", "--upstream", upstream]
    print(f"\n$ nscma {' '.join(words)}")
    command = [sys.executable, "-m", "nscma_torch", *words, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)


def completion(url: str, model: str, *turns: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """The reply to turns of user and assistant in turn, what it took of tokens, and the headers of the memory."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": turn} for i, turn in enumerate(turns)]
    body = {"model": model, "messages": messages, "max_tokens": 16, "temperature": 0}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=300) as got:
        answered = json.load(got)
        of_memory = {name.lower(): value for name, value in got.headers.items() if name.lower().startswith("x-nscma")}
    return answered["choices"][0]["message"]["content"] or "", answered["usage"], of_memory


def chat(url: str, upstream: str, model: str) -> None:
    """Two conversations of a client that sends what it always sends."""
    print("\n# first conversation")
    turns: list[str] = []
    for text in TOLD:
        reply, _, headers = completion(url, model, *turns, text)
        turns += [text, reply]
        _print_turn(text, reply, headers)
    print("\n# another conversation, which has none of these turns")
    for text in ASKED:
        reply, usage, headers = completion(url, model, text)
        _, alone, _ = completion(upstream, model, text)
        _print_turn(text, reply, headers)
        print(f"           prompt: {usage['prompt_tokens']} tokens; without the memory {alone['prompt_tokens']}")


def _print_turn(text: str, reply: str, headers: dict[str, str]) -> None:
    print(f"user:      {text}\nassistant: {reply[:SHOWN]!r}")
    for name, value in sorted(headers.items()):
        print(f"           {name}: {value}")


async def session(client: Client) -> None:
    """What an agent may do with the tools."""
    tools = (await client.list_tools()).tools
    print("tools:", ", ".join(tool.name for tool in tools))
    await _call(client, "ask", question=ASKED[0])
    await _call(client, "remember", text="Since Monday Marta works at the airport.")
    await _call(client, "ask", question="Where does Marta work?")
    await _call(client, "facts", subject="Marta")


async def _call(client: Client, tool: str, **arguments: Any) -> None:
    got = await client.call_tool(tool, arguments)
    print(f"> {tool} {json.dumps(arguments)}\n  {json.dumps(got.structured_content, ensure_ascii=False)[:400]}")


async def over_http(url: str) -> None:
    """A session with a running server."""
    print("\n# an MCP client over HTTP")
    async with Client(streamable_http_client(f"{url}/mcp")) as client:
        await session(client)


async def on_stdio(store: Path) -> None:
    """A session with `nscma mcp` as a child process, over the same store."""
    words = ["mcp", "--store", str(store), "--user", "default"]
    print(f"\n# an MCP client on stdio: nscma {' '.join(words)}")
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "nscma_torch", *words])
    async with Client(stdio_client(parameters)) as client:
        await _call(client, "ask", question="Where does Marta work?")


def transcripts(upstream: str, model: str, folder: Path, mem0: Path | None) -> None:
    """All of them; `mem0` is its wheel."""
    store = folder / "memory.db"
    with serving(store, upstream) as url:
        chat(url, upstream, model)
        asyncio.run(over_http(url))
    asyncio.run(on_stdio(store))
    frameworks.agent()
    if mem0 is not None:
        frameworks.mem0_example(mem0, upstream, folder)


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--vllm", type=Path, metavar="PYTHON", help="interpreter of an environment with vLLM")
    model.add_argument("--upstream", metavar="URL", help="a running OpenAI-compatible server")
    parser.add_argument("--model", default="tiny", help="the name of its model")
    parser.add_argument("--mem0", type=Path, metavar="WHEEL", help="mem0's wheel: run the example in it, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        if arguments.upstream:
            transcripts(arguments.upstream.rstrip("/"), arguments.model, folder, arguments.mem0)
            return
        tiny = build(folder / "tiny", hidden_size=128, max_position_embeddings=8192)
        with vllm_server(arguments.vllm, tiny, folder, OPTIONS) as (url, _):
            transcripts(url, "tiny", folder, arguments.mem0)


if __name__ == "__main__":
    main()
