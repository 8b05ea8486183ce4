"""Several server processes over one store in PostgreSQL: behind one port, and behind nginx by `configs/deploy`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.errors import ConfigError
from tests.conftest import LIGHT
from tests.helpers.postgres import Server

Open = Callable[..., Memory]
DEPLOY = Path(__file__).parents[2] / "configs" / "deploy"
LIGHT_FILE = (
    'device = "cpu"\n[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n'
    '[facts]\nunits = ["triple", "atomic_fact"]\n[gate]\nrule = "everything"\n[hierarchy]\nbatch_size = 8\n'
    "[worker]\npoll = 0.05\nlease = 3.0\nbatch_size = 4\n[server]\nrate = 1000.0\n"
)
USERS = tuple(f"user {number}" for number in range(9))
GIVE_UP = 240.0  # seconds


@pytest.fixture
def address(postgres_server: Server) -> Iterator[str]:
    name = postgres_server.take()
    yield postgres_server.address(name)
    postgres_server.give_back(name)


@pytest.fixture
def serve(address: str, tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Start `nscma serve` on a free port; gives the process and its address, once it serves."""
    config = tmp_path / "config.toml"
    config.write_text(LIGHT_FILE)
    running: list[subprocess.Popen[str]] = []

    def start(*more: str, until: str = "serving") -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-m", "nscma_torch", "serve", "--json", "--port", "0", "--store", address, *more]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        running.append(
            subprocess.Popen([*command, "--config", str(config)], stdout=subprocess.PIPE, text=True, env=environment)
        )
        assert running[-1].stdout is not None
        while not (line := json.loads(running[-1].stdout.readline()))["event"].endswith(until):
            pass
        return running[-1], line["url"]

    yield start
    for process in running:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


def sent(url: str, body: dict[str, Any], user: str) -> tuple[dict[str, Any], str | None]:
    """The answer to a POST, and the server behind nginx that gave it."""
    head = {"Content-Type": "application/json", "X-Nscma-User": user}
    request = urllib.request.Request(url, json.dumps({"user_id": user, **body}).encode(), head)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer), answer.headers["X-Nscma-Server"]


def add(url: str, text: str, user: str) -> tuple[str, str | None]:
    at = datetime.now(UTC).isoformat()
    answer, server = sent(f"{url}/v1/messages", {"messages": text, "timestamp": at}, user)
    return answer["results"][0]["id"], server


def comes(true: Callable[[], object]) -> None:
    """Wait until it is true."""
    give_up = time.monotonic() + GIVE_UP
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def of_one_process(memory: Memory, open_memory: Open, users: tuple[str, ...]) -> None:
    """Whether the store is as one process makes it of the same messages."""
    comes(lambda: not memory.stats().jobs_queued or memory.flush())
    other = open_memory("one.db", config=json_config())
    for user in users:
        for episode in memory.log(user_id=user, limit=None):
            other.add(episode.text, user_id=user, timestamp=episode.occurred_at, now=episode.recorded_at)
    now = datetime.now(UTC)
    for store in (memory, other):
        store.sleep(now=now)
    for user in users:
        assert memory.digest(user_id=user) == other.digest(user_id=user), user
    assert memory.verify() == []


def json_config() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(LIGHT_FILE)


def serving(process: subprocess.Popen[str]) -> bool:
    """Wait for the next line of the server, and return whether it says that a process serves."""
    assert process.stdout is not None
    return str(json.loads(process.stdout.readline())["event"]).endswith(" serving")


def test_processes_share_a_port_and_one_that_dies_is_replaced(serve: Any, address: str) -> None:
    process, url = serve("--workers", "2")
    with Memory(address, config=LIGHT) as memory:
        assert serving(process), "the second; one that is killed before it says so never does"
        comes(lambda: sum(worker.alive for worker in memory.stats().workers) == 2)
        first = {worker.owner for worker in memory.stats().workers}
        ids = [add(url, f"note {i}", "ana")[0] for i in range(8)]
        victim = int(min(first).split()[1])
        os.kill(victim, signal.SIGKILL)
        for i in range(8):  # the other one serves on; what the dead one had accepted fails, and nothing is lost
            with suppress(URLError, ConnectionError):
                ids.append(add(url, f"more {i}", "ana")[0])
        assert len(ids) > 8
        assert serving(process), "the new one"
        comes(lambda: sum(one.alive and one.owner not in first for one in memory.stats().workers) == 1)
        assert {one.id for one in memory.get_all(user_id="ana", limit=None)} >= set(ids)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0 and json.loads(out.splitlines()[-1])["event"] == "stopped"
        comes(lambda: not memory.stats().workers)


def test_one_process_serves_a_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["serve", "--workers", "2", "--store", str(tmp_path / "store.db")])
    assert isinstance(result.exception, ConfigError) and "a file has one writer" in str(result.exception)
    assert not (tmp_path / "store.db").exists()


def balanced(urls: list[str], folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """nginx by the file of `configs/deploy` in front of servers."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    own = "".join(f"    server {url.removeprefix('http://')} max_fails=1 fail_timeout=10s;\n" for url in urls)
    lines = [own if "server server:8765" in line else line for line in text.splitlines(keepends=True)]
    text = "".join(lines).replace("listen 80;", f"listen 127.0.0.1:{port};")
    (folder / "nginx.conf").write_text(
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nworker_processes 1;\n"
        f"events {{}}\nhttp {{\naccess_log off;\nclient_body_temp_path {folder}/body;\n"
        f"proxy_temp_path {folder}/proxy;\n"
        f"fastcgi_temp_path {folder}/f;\nuwsgi_temp_path {folder}/u;\nscgi_temp_path {folder}/s;\n{text}}}\n"
    )
    return subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]), f"http://127.0.0.1:{port}"


@pytest.mark.prove
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_behind_nginx_each_user_has_a_server_and_a_kill_moves_its_users_alone(
    serve: Any, address: str, open_memory: Open, tmp_path: Path
) -> None:
    servers = dict(reversed(serve()) for _ in range(3))
    front, url = balanced(list(servers), tmp_path)
    try:
        with Memory(address, config={**LIGHT, **json_config()}) as memory:
            comes(lambda: sum(worker.alive for worker in memory.stats().workers) == 3)
            told: dict[str, list[str]] = {user: [] for user in USERS}
            of: dict[str, list[str]] = {user: [] for user in USERS}

            def say(user: str, text: str) -> bool:
                try:
                    memory_id, server = add(url, text, user)
                except (URLError, ConnectionError, TimeoutError):
                    return False
                told[user].append(memory_id)
                of[user].append(str(server).rpartition(", ")[2])  # nginx names those that it tried, too
                return True

            comes(lambda: say(USERS[0], "hello"))
            for i in range(5):
                for user in USERS:
                    assert say(user, f"My sister number {i} was born in Kyoto in {1950 + i}.")
            assert all(len(set(seen)) == 1 for seen in of.values()), "the same user, always the same server"
            before = {user: seen[0] for user, seen in of.items()}
            assert len(set(before.values())) == 3
            killed = before[USERS[0]]
            enough = threading.Event()
            failed: list[str] = []

            def load(user: str) -> None:
                number = 0
                while not enough.is_set():
                    if not say(user, f"I moved to flat {number} of house {user}."):
                        failed.append(user)
                    number += 1

            threads = [threading.Thread(target=load, args=(user,)) for user in USERS]
            for thread in threads:
                thread.start()
            time.sleep(2.0)
            servers[f"http://{killed}"].kill()
            time.sleep(8.0)
            enough.set()
            for thread in threads:
                thread.join()
            for user in USERS:
                assert say(user, "That was all.")
            after = {user: seen[-1] for user, seen in of.items()}
            assert killed not in after.values()
            moved = [user for user in USERS if before[user] != after[user]]
            assert moved == [user for user in USERS if before[user] == killed]
            for user in USERS:
                there = {one.id for one in memory.get_all(user_id=user, limit=None)}
                assert set(told[user]) <= there
            of_one_process(memory, open_memory, USERS)
            count = sum(map(len, told.values()))
            print(
                f"3 servers behind nginx, one killed under load: {count} messages acknowledged, none lost, "
                f"{len(failed)} requests failed, {len(moved)} of {len(USERS)} users moved; digest as of one process"
            )
    finally:
        front.terminate()
        front.wait()


def test_the_files_parse() -> None:
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert set(compose["services"]) == {"postgres", "store", "server", "nginx"}
    kinds = [one["kind"] for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))]
    assert kinds == ["Job", "Deployment", "Service", "Ingress"]
    for service in compose["services"].values():  # files that it mounts are there
        for volume in service.get("volumes", ()):
            if volume.startswith("./"):
                assert (DEPLOY / volume.partition(":")[0]).is_file(), volume
