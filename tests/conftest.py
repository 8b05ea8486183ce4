"""Fixtures of all tests: light models, stores in a fresh folder, a conversation, and processes that can be killed."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.api import components
from nscma_torch.api.memory import Memory
from nscma_torch.core.database import opening
from nscma_torch.core.records import Message
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.helpers import postgres, shared_readings, shared_statements
from tests.helpers.told import told as told

LIGHT: dict[str, Any] = {
    "device": "cpu",
    "embedder": {"model": "hash"},
    "reading": {"model": "none"},
    "standing": {"neighbours": 0, "forget_requests": False},
    "facts": {"units": ["triple", "atomic_fact"]},  # all that a store can hold
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--dialect", choices=("sqlite", "postgresql"), default="sqlite", help="where stores are opened")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    with postgres.server() as running:
        yield running


@pytest.fixture(autouse=True)
def dialect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Under `--dialect postgresql` each path of a store stands for a database of the tests' server."""
    chosen: str = request.config.getoption("--dialect")
    if chosen == "sqlite":
        yield chosen
        return
    if (marker := request.node.get_closest_marker("sqlite_file")) is not None:
        pytest.skip(f"it looks at the file: {marker.args[0]}")
    server: postgres.Server = request.getfixturevalue("postgres_server")
    taken: dict[Path, str] = {}

    def opened(store: Any, settings: Any) -> Any:
        if not opening.is_postgres(store):
            path = Path(store).absolute()
            if path not in taken:
                taken[path] = server.take()
            store = server.address(taken[path])
        return opening.open_database(store, settings)

    monkeypatch.setattr(components, "open_database", opened)
    yield chosen
    for name in taken.values():
        server.give_back(name)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "prove: the full count of a proof; run by `make prove`")
    config.addinivalue_line("markers", "sqlite_file(why): of a file; left out under --dialect postgresql")
    shared_statements.share()
    shared_readings.share()


def pytest_collection_finish() -> None:
    """Search for garbage less often: thousands of tests and all modules stay until the end."""
    gc.set_threshold(10_000, 20, 20)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under `--dialect postgresql` what opens no store is left out: it would be the same test again."""
    if config.getoption("--dialect") == "postgresql":
        stores = [item for item in items if "open_memory" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(stores)])
        items[:] = stores


@pytest.fixture(scope="session")
def surprise_model() -> ByteSurpriseModel:
    torch.set_num_threads(1)
    return ByteSurpriseModel.load()


@pytest.fixture(scope="session")
def embedder() -> HashEmbedder:
    return HashEmbedder()


@dataclass(frozen=True)
class LightScore:
    nll: list[torch.Tensor]
    state: bytes
    ends: list[torch.Tensor] | None = None


class LightSurpriseModel:
    """A `SurpriseModel` that is instant: nats from byte values, and a state that depends on everything read."""

    fingerprint = "light"

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[LightScore]:
        scores = []
        for messages, state in zip(streams, states, strict=True):
            nll = []
            for message in messages:
                data = message.encode() + b"\n"
                nll.append(torch.frombuffer(bytearray(data), dtype=torch.uint8).float() / 64)
                state = hashlib.sha256((state or b"") + data).digest()
            scores.append(LightScore(nll, state or b"empty"))
        return scores


class LightTokenSurpriseModel(LightSurpriseModel):
    """The same with tokens of up to four bytes, so several times the nats a token."""

    fingerprint = "light tokens"

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[LightScore]:
        scores = []
        for of_bytes in super().score(streams, states):
            nll = [torch.stack([part.sum() for part in own.split(4)]) for own in of_bytes.nll]
            ends = [torch.tensor([part.numel() for part in own.split(4)]).cumsum(0) for own in of_bytes.nll]
            scores.append(LightScore(nll, of_bytes.state, ends))
        return scores


@pytest.fixture(scope="session")
def light_surprise() -> LightSurpriseModel:
    return LightSurpriseModel()


@pytest.fixture(scope="session")
def light_token_surprise() -> LightTokenSurpriseModel:
    return LightTokenSurpriseModel()


@pytest.fixture
def open_memory(
    tmp_path: Path, surprise_model: ByteSurpriseModel, embedder: HashEmbedder
) -> Iterator[Callable[..., Memory]]:
    """`open_memory(name, config=…, …)` opens a store in the test's folder; all are closed at the end."""
    opened: list[Memory] = []

    def open_(name: str | Path = "store.db", config: dict[str, Any] | None = None, **parts: Any) -> Memory:
        parts = {"surprise_model": surprise_model, "embedder": embedder, **parts}
        memory = Memory(tmp_path / name, config={**LIGHT, **(config or {})}, **parts)
        opened.append(memory)
        return memory

    yield open_
    for memory in opened:
        memory._components.database.close()


@pytest.fixture(scope="module")
def stored(
    tmp_path_factory: pytest.TempPathFactory, surprise_model: ByteSurpriseModel, embedder: HashEmbedder
) -> Callable[..., Path]:
    """`stored(fill, config=…, …)`: the file of a store that `fill` filled, for tests that each change a copy."""

    def make(fill: Callable[[Memory], object], config: dict[str, Any] | None = None, **parts: Any) -> Path:
        path = tmp_path_factory.mktemp("stored") / "store.db"
        parts = {"surprise_model": surprise_model, "embedder": embedder, **parts}
        with Memory(path, config={**LIGHT, **(config or {})}, **parts) as memory:
            fill(memory)
            assert memory.verify() == []
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path

    return make


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()


_SUBJECTS = ("My sister Ana", "The landlord", "Our cat Miso", "Dr. Okafor", "The team in Lisbon", "Grandfather")
_ACTIONS = ("moved to", "painted", "sold the bicycle in", "was born in", "signed the contract for", "complained about")
_OBJECTS = ("Porto", "the harbour house", "Kyoto", "warehouse 42", "the old library", "an orchard near Bergen")
_SMALL_TALK = ("ok", "thanks!", "haha", "sounds good", "see you later", "好的")
_CHINESE = ("我上个月搬到了成都。", "她最喜欢的颜色从红色变成了蓝色。", "我们星期五去爬山。")


@pytest.fixture
def eager(open_memory: Callable[..., Memory]) -> Memory:
    """A memory whose gate writes everything."""
    return open_memory(config={"gate": {"rule": "everything"}})


@pytest.fixture(scope="session")
def conversation() -> Callable[..., list[Message]]:
    """`conversation(n, seed)`: n dated messages of two speakers in sittings; facts, small talk, Chinese, logs."""

    def make(n: int, seed: int = 0, *, dated: bool = True, long: bool = True) -> list[Message]:
        rng = random.Random(seed)
        at = datetime(2024, 3, 1, 9, tzinfo=UTC)
        messages = []
        for i in range(n):
            at += timedelta(minutes=rng.randint(1, 90))
            kind = rng.random()
            if kind < 0.2:
                text = rng.choice(_SMALL_TALK)
            elif kind < 0.3:
                text = rng.choice(_CHINESE)
            elif kind < 0.4 and long:
                text = "\n".join(f"{at:%H:%M} job {rng.randrange(10**6)} finished with code {j % 3}" for j in range(60))
            else:
                subject, action, thing = map(rng.choice, (_SUBJECTS, _ACTIONS, _OBJECTS))
                text = f"{subject} {action} {thing} in {rng.randint(1950, 2024)}."
            speaker = ("user", "Kim") if i % 2 == 0 else ("assistant", "Robin")
            said = at if dated else None
            messages.append(Message(speaker[0], text, said, name=speaker[1], session=f"sitting {i // 12}"))
        return messages

    return make


Contents = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], Contents]:
    """Every row of every table of a SQLite file, read without the library."""

    def read(path: Path) -> Contents:
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
            return {name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr) for (name,) in names}

    return read


class Processes:
    """Forks processes out of one that has imported everything, so that each starts in milliseconds."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("helpers") / "forked.py"
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self._server = subprocess.Popen(
            [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._answer()

    def _answer(self) -> Any:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line, "the forking process has ended"
        return json.loads(line)

    def _ask(self, **request: Any) -> Any:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return self._answer()

    def start(self, task: str, said: Path, **arguments: Any) -> int:
        """Start a task of `forked.py`; what it says goes to the file `said`, a line each. Returns its process id."""
        pid: int = self._ask(task=task, said=str(said), arguments=arguments)
        return pid

    def wait(self, pid: int) -> int:
        """Exit code of a process; -9 when it was killed."""
        code: int = self._ask(wait=pid)
        return code

    def run(self, task: str, said: Path, **arguments: Any) -> list[str]:
        """Run a task to its end and return what it said; an error there fails the test."""
        assert self.wait(self.start(task, said, **arguments)) == 0, said.read_text()
        return said.read_text().splitlines()

    def close(self) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(timeout=30)
        self._server.stdout.close()


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    server = Processes()
    yield server
    server.close()
