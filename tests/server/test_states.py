"""docs/state.md: what each read shows of a message in each state, through every interface."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")

import torch
from mcp import Client
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app as cli
from nscma_torch.compat.mem0 import Memory as Mem0
from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.errors import NotFoundError
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from nscma_torch.server.access import Principal
from nscma_torch.server.mcp.dispatcher import Dispatcher, McpCaller
from nscma_torch.server.mcp.serving import memory_server
from nscma_torch.server.proxy.chat_request import UserTurn
from nscma_torch.server.proxy.recalling import TurnRecall
from nscma_torch.server.tokens import RIGHTS
from nscma_torch.server.work import CallPool
from tests.helpers.word_reader import WordReader, put_in_place
from tests.server.conftest import serving

PAGE = Path(__file__).parents[2] / "docs" / "state.md"
HOME, QUESTION, VALUE = "Ysolde's home is in Kilkenny.", "Where does Ysolde live?", "Kilkenny"
LATER = {"in doubt": ("The landlord sold the house.", "voids"), "past": ("The lorry has taken her boxes.", "ends")}
SAYS_SO = re.compile(r"I don\\?'t know: \\*\"|in doubt since|different things")
CONFIG: dict[str, Any] = {
    "device": "cpu",
    "embedder": {"model": "hash"},
    "gate": {"rule": "everything"},
    "standing": {"neighbours": 8, "forget_requests": False},
}


class StateReader(WordReader):
    """Finds the effects in `LATER` on `HOME`."""

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> torch.Tensor:
        kinds = dict(LATER.values())
        found = [
            kinds.get(own[-1].text, "none") if HOME in text else "none"
            for text, own in zip(earlier, later, strict=True)
        ]
        return torch.tensor([[float(kind == own) for kind in CHANGES] for own in found])


def table() -> dict[str, dict[str, str]]:
    """Return the page's table: state → read → cell."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    head, _, *states = rows
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in states}


def bring_into(state: str, memory: Memory) -> str:
    """Store a message and bring it into a state; return its id."""
    began = datetime.now(UTC) - timedelta(days=30)

    def say(text: str, day: int, speaker: str = "Ann") -> str:
        message = {"role": "user", "name": speaker, "content": text}
        (added,) = memory.add([message], user_id="ada", timestamp=began + timedelta(days=day))
        memory.flush()
        return added.id

    own = say(HOME, 0)
    if state in LATER:
        say(LATER[state][0], 2)
    elif state == "disputed":
        say("Ysolde's home is in Sibiu.", 0, "Tom")
    elif state == "deleted":
        memory.delete(own, user_id="ada")
    elif state == "erased":
        memory.erase(user_id="ada", memory_id=own)
    return own


def cell(read: str, output: str) -> str:
    """Return how a read's output shows the message."""
    if read == "history":
        return "yes" if "ADD" in output else "no"
    if SAYS_SO.search(output):
        return "says so"
    return "yes" if VALUE in output else "no"


def in_python(memory: Memory, own: str, *_: Any) -> Mapping[str, Callable[[], object]]:
    return {
        "search": lambda: memory.search(QUESTION, user_id="ada"),
        "ask": lambda: memory.ask(QUESTION, user_id="ada").text,
        "facts": lambda: memory.facts(user_id="ada"),
        "get": lambda: memory.get(own, user_id="ada"),
        "history": lambda: memory.history(own, user_id="ada"),
    }


def in_rest(memory: Memory, own: str, client: Any, *_: Any) -> Mapping[str, Callable[[], object]]:
    user = {"user_id": "ada"}
    return {
        "search": lambda: client.post("/v1/search", json={"query": QUESTION, **user}).text,
        "ask": lambda: client.post("/v1/ask", json={"question": QUESTION, **user}).json()["text"],
        "facts": lambda: client.get("/v1/facts", params=user).text,
        "get": lambda: client.get(f"/v1/messages/{own}", params=user).text,
        "history": lambda: client.get(f"/v1/messages/{own}/history", params=user).text,
    }


def in_mem0(memory: Memory, own: str, *_: Any) -> Mapping[str, Callable[[], object]]:
    mem0 = Mem0.over(memory)
    return {
        "search": lambda: mem0.search(QUESTION, filters={"user_id": "ada"}),
        "get": lambda: mem0.get(own),
        "history": lambda: mem0.history(own),
    }


def in_mcp(memory: Memory, own: str, *_: Any) -> Mapping[str, Callable[[], object]]:
    def used(tool: str, **arguments: Any) -> str:
        async def opened() -> Memory:
            return memory

        async def call() -> str:
            pool = CallPool(2, 8)
            caller = McpCaller(Principal("ada", frozenset(RIGHTS), "stdio"))
            server = memory_server(Dispatcher(opened, pool, pool, lambda _: caller))
            async with Client(server) as client:
                got = await client.call_tool(tool, arguments)
            pool.close()
            return json.dumps(got.structured_content)

        return asyncio.run(call())

    return {
        "search": lambda: used("recall", query=QUESTION).replace('"in_doubt"', ""),
        "ask": lambda: json.loads(used("ask", question=QUESTION))["answer"],
        "facts": lambda: used("facts"),
        "history": lambda: used("history", id=own),
    }


def in_the_proxy(memory: Memory, *_: Any) -> Mapping[str, Callable[[], object]]:
    turn = UserTurn(QUESTION, QUESTION, None, "", "0", "chat")
    recall = TurnRecall(memory, UpstreamConfig(facts=0))
    return {"proxy": lambda: recall.only("ada", turn, ["key"], datetime.now(UTC)).block.text}


def on_the_command_line(_: Memory, own: str, __: Any, store: Path, config: Path) -> Mapping[str, Callable[[], object]]:
    def run(*words: str) -> str:
        where = ["--store", str(store), "--config", str(config), "--user", "ada"]
        return CliRunner().invoke(cli, [*words, *where, "--json"]).stdout

    return {
        "search": lambda: run("search", QUESTION),
        "ask": lambda: run("ask", QUESTION),
        "facts": lambda: run("facts"),
        "get": lambda: run("get", own),
        "history": lambda: run("history", own),
    }


@pytest.mark.parametrize("state", table())
def test_each_read_shows_what_the_page_says(
    state: str,
    open_memory: Callable[..., Memory],
    light_surprise: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    word = VALUE if state == "deferred" else "nothing of the kind"
    reading = put_in_place(StateReader(word), monkeypatch, 0.1)
    config = {**CONFIG, "reading": reading}
    if state == "deferred":
        config["gate"] = {"rule": "composition", "threshold": 1e6}
    memory = open_memory(config=config, surprise_model=light_surprise)
    own = bring_into(state, memory)
    toml = tmp_path / "config.toml"
    toml.write_text("".join(_lines(config)), encoding="utf-8")
    with serving(memory, tmp_path / "tokens") as served:
        for interface in (in_python, in_rest, in_mem0, in_mcp, in_the_proxy, on_the_command_line):
            reads = interface(memory, own, served.client, tmp_path / "store.db", toml)  # type: ignore[operator]
            shown = {}
            for read, call in reads.items():
                try:
                    shown[read] = cell(read, str(call()))
                except NotFoundError:
                    shown[read] = "no"
            expected = {read: shown_as for read, shown_as in table()[state].items() if read in reads}
            assert shown == expected, interface.__name__


def _lines(config: Mapping[str, Any]) -> list[str]:
    """Return a configuration in TOML."""
    plain = [f"{key} = {json.dumps(value)}\n" for key, value in config.items() if not isinstance(value, dict)]
    for section, values in config.items():
        if isinstance(values, dict):
            plain += [f"[{section}]\n", *(f"{key} = {json.dumps(value)}\n" for key, value in values.items())]
    return plain
