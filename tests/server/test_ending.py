"""However the server ends, what it acknowledged is there: SIGTERM while messages come in, SIGKILL at any instant."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.errors import ConfigError
from tests.server.test_sockets import HOST, chunk, connected, line, rest_of, until

Open = Callable[..., Memory]
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(2, 20))]


def port_of(said: Path) -> int:
    while "\n" not in said.read_text():
        time.sleep(0.001)
    return int(said.read_text().split()[0])


def test_sigterm_lets_a_stream_end(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    """It comes while a stream is half sent: nothing new is accepted, the stream is stored to its end."""
    store, said = str(tmp_path / "store.db"), tmp_path / "said"
    pid = processes.start("serve", said, store=store, config={"reading": {"model": "none"}})
    port = port_of(said)
    with connected(port) as connection:
        head = b"POST /v1/messages/stream?ids=true HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head + b"".join(chunk(line(number)) for number in range(64)))
        told = until(connection, b"}\n")  # the first batch is on disk, the stream is at work
        os.kill(pid, signal.SIGTERM)
        while refused(port) is None:
            time.sleep(0.001)
        connection.sendall(b"".join(chunk(line(number)) for number in range(64, 80)) + b"0\r\n\r\n")
        told += rest_of(connection)
    assert processes.wait(pid) == 0, said.read_text()
    assert said.read_text().splitlines()[-1] == "end"
    lines = [json.loads(part) for part in told.splitlines() if part.startswith(b"{")]
    assert lines[-1]["done"] is True and lines[-1]["added"] == 80
    acknowledged = [one for part in lines for one in part.get("ids", ())]
    memory = open_memory(store)
    assert [one.id for one in memory.get_all(user_id="default", limit=None)] == acknowledged
    assert memory.verify() == []


def refused(port: int) -> OSError | None:
    try:
        connected(port).close()
    except OSError as error:
        return error
    return None


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_to_sigkill(seed: int, processes: Any, open_memory: Open, tmp_path: Path) -> None:
    """Four clients add, one by one and in streams, while the worker reads; the server is killed; all is there."""
    store, said = str(tmp_path / "store.db"), tmp_path / "said"
    config = {"reading": {"model": "none"}, "worker": {"poll": 0.01, "lease": 0.3, "batch_size": 4}}
    pid = processes.start("serve", said, store=store, config=config)
    port = port_of(said)
    acknowledged: dict[str, str] = {}
    enough = threading.Event()

    def client(number: int) -> None:
        count = 0
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            while True:
                count += 1
                texts = [f"Client {number} said the word xylo{number}x{count}x{i}." for i in range(3)]
                for one in (streamed if number % 2 else added)(connection, f"user {number}", texts):
                    acknowledged[one] = f"user {number}"
                if len(acknowledged) > 20:
                    enough.set()
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()  # it was killed; what it had not answered counts for nothing

    clients = [threading.Thread(target=client, args=(number,)) for number in range(4)]
    for one in clients:
        one.start()
    assert enough.wait(60)
    time.sleep(random.Random(seed).uniform(0, 0.1))
    os.kill(pid, signal.SIGKILL)
    assert processes.wait(pid) == -signal.SIGKILL
    for one in clients:
        one.join()
    memory = open_memory(store)
    kept = {found.id: user for user in set(acknowledged.values()) for found in memory.get_all(user_id=user, limit=None)}
    assert acknowledged.items() <= kept.items() and memory.verify() == []


def added(connection: http.client.HTTPConnection, user: str, texts: list[str]) -> list[str]:
    body = json.dumps({"user_id": user, "messages": [{"role": "user", "content": text} for text in texts]})
    connection.request("POST", "/v1/messages", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 200, told
    return [one["id"] for one in json.loads(told)["results"]]


def streamed(connection: http.client.HTTPConnection, user: str, texts: list[str]) -> list[str]:
    body = "\n".join(json.dumps({"role": "user", "content": text}) for text in texts)
    path = f"/v1/messages/stream?ids=true&user_id={user.replace(' ', '%20')}"
    connection.request("POST", path, body.encode())
    return [one for part in connection.getresponse() for one in json.loads(part).get("ids", ())]


def test_the_command(tmp_path: Path) -> None:
    """`nscma serve` says where it is, serves, and ends at SIGTERM with 0; beyond the loopback it wants tokens."""
    config = tmp_path / "light.toml"
    config.write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\n')
    options = ["--store", str(tmp_path / "s.db"), "--config", str(config), "--port", "0"]
    command = [sys.executable, "-m", "nscma_torch", "serve", *options]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        begun = json.loads(process.stdout.readline())
        with closing(http.client.HTTPConnection(begun["url"].removeprefix("http://"), timeout=30)) as connection:
            assert added(connection, "ana", ["I live in Porto."])
        process.send_signal(signal.SIGTERM)
        ended = json.loads(process.stdout.read())
        assert process.wait() == 0 and (begun["event"], ended["event"]) == ("serving", "stopped")
    beyond = CliRunner().invoke(app, ["serve", *options, "--host", "0.0.0.0"])
    assert isinstance(beyond.exception, ConfigError) and "nscma token add" in str(beyond.exception)
