"""Commands in a fork of the warm process: the same output and exit status, and nothing of it reaches others."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from nscma_torch.cli.commands import MODULES
from nscma_torch.cli.output import opened
from nscma_torch.cli.warm_process import address as addresses
from nscma_torch.cli.warm_process import client, loaded
from nscma_torch.cli.warm_process.wire import receive_command, send_number
from nscma_torch.core.config_identity import config_identity
from nscma_torch.core.errors import StoreAccessError
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

pytestmark = pytest.mark.skipif(not client.SUPPORTED, reason="this system can't fork")

LIGHT = '[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n[gate]\nrule = "everything"\n'
Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "nscma_torch", *arguments]


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("w")
    (folder / "light.toml").write_text(LIGHT)
    own = {name: text for name, text in os.environ.items() if not name.startswith("NSCMA_")}
    return {**own, "XDG_RUNTIME_DIR": str(folder), "NSCMA_CONFIG": str(folder / "light.toml"), "PWD": str(folder)}


@pytest.fixture(scope="module")
def warm(surroundings: dict[str, str]) -> Iterator[Run]:
    """Runs `nscma …` beside a warm process."""
    folder = surroundings["PWD"]

    def run(*arguments: str, given: str = "", **environment: str) -> Ended:
        return subprocess.run(
            program(*arguments),
            input=given,
            cwd=folder,
            env={**surroundings, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    begun = run("warm", "--minutes", "5", "--json")
    assert (json.loads(begun.stdout), begun.stderr) == ({"state": "started"}, "")
    yield run
    assert json.loads(run("warm", "--stop", "--json").stdout) == {"state": "ended"}
    assert json.loads(run("warm", "--stop", "--json").stdout) == {"state": "none was running"}


def cold(run: Run, *arguments: str, **named: str) -> Ended:
    """Run a command where no warm process is found."""
    return run(*arguments, **{**named, "XDG_RUNTIME_DIR": "/nonexistent"})


SAID = "I moved to Porto in March.\n"
SAME = (
    (("search", "Porto"), ""),
    (("search",), ""),
    (("get", "00000000"), ""),
    (("search", "Porto", "--config", "no.toml"), ""),
    (("add", "--format", "text", "-"), SAID),
)


def test_a_command_prints_and_returns_the_same(warm: Run) -> None:
    warm("add", "--format", "text", "-", given=SAID)
    for arguments, given in SAME:
        forked, alone = warm(*arguments, given=given), cold(warm, *arguments, given=given)
        assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_a_command_runs_in_a_fork_with_its_own_surroundings(
    surroundings: dict[str, str], warm: Run, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['nscma_torch.cli.options'] = None")
    ended = warm("log", PYTHONPATH=str(tmp_path), NSCMA_STORE="no.db")
    assert ended.returncode == 2 and "there is no store at no.db" in ended.stderr, "the fork imports, not this process"
    subprocess.run(
        program("add", "--text", "Ok", "--store", "own.db"), cwd=surroundings["PWD"], env=surroundings, umask=0o027,
        check=True, timeout=60,
    )  # fmt: skip
    assert Path(surroundings["PWD"], "own.db").exists()
    assert warm("warm", "--json").stdout == '{\n  "state": "already running"\n}\n'


def test_an_interrupt_reaches_the_fork(surroundings: dict[str, str], warm: Run) -> None:
    command = program("add", "--format", "text", "-", "--store", "interrupted.db")
    begun = subprocess.Popen(
        command,
        cwd=surroundings["PWD"],
        env=surroundings,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a worker of pytest-xdist ignores it
    )
    with begun:
        assert begun.stdin is not None
        begun.stdin.write(b"Ok.\n" * 100_000)  # more than a pipe holds: the fork reads it
        begun.stdin.flush()
        for _ in range(60):  # one that comes just before a read is seen after it, as in any Python program
            begun.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                begun.wait(0.5)
                break
        assert begun.returncode == 130
    assert warm("log", "--store", "interrupted.db").returncode != 0


@pytest.mark.usefixtures("warm")
def test_other_configurations_are_not_served(surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", surroundings["XDG_RUNTIME_DIR"])
    monkeypatch.chdir(surroundings["PWD"])
    config = Path(surroundings["NSCMA_CONFIG"])
    line = client.connected(config)
    assert line is not None
    line.close()
    assert client.connected(None) is None and client.connected(Path("cpu")) is None
    config.with_name("other.toml").write_text(LIGHT + "[retrieval]\ntop_k = 3\n")
    assert client.connected(config.with_name("other.toml")) is None


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("NSCMA_CONFIG", raising=False)
    return tmp_path / "nscma"


def test_a_command_whose_fork_was_killed_says_so(runtime: Path, capfd: pytest.CaptureFixture[str]) -> None:
    addresses.make_private(runtime)
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(addresses.address(None)))
        listening.listen(1)

        def begin_and_end() -> None:
            line, _ = listening.accept()
            with line:
                command, streams = receive_command(line)
                for one in streams:
                    os.close(one)
                assert command.arguments == ["log"] and command.folder == os.getcwd()  # noqa: PTH109
                send_number(line, os.getpid())

        thread = threading.Thread(target=begin_and_end)
        thread.start()
        assert client.run_warm(["log"]) == 1
        thread.join()
    assert "was killed" in capfd.readouterr().err
    assert client.run_warm(["log"]) is None  # the socket is there, but nobody listens


def test_a_folder_that_others_can_enter_is_not_used(runtime: Path) -> None:
    runtime.mkdir()
    runtime.chmod(0o755)
    with pytest.raises(StoreAccessError, match="others can enter"):
        addresses.make_private(runtime)
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(addresses.address(None)))
        listening.listen(1)
        assert client.connected(None) is None
        runtime.chmod(0o700)
        line = client.connected(None)
        assert line is not None
        line.close()


def test_loaded_models_are_used_for_their_configuration_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "light.toml"
    config.write_text(LIGHT)
    embedder = HashEmbedder()
    monkeypatch.setattr(loaded, "_of_process", [])
    loaded.keep(loaded.LoadedModels(config_identity(config), embedder, None))
    with opened("some.db", config, must_exist=False) as memory:
        assert memory.components.embedder is embedder
    config.write_text(LIGHT + "# changed\n")
    with opened("some.db", config) as memory:
        assert memory.components.embedder is not embedder


def test_commands_that_run_on_are_not_forked() -> None:
    assert set(MODULES) > client.COMMANDS
    assert not client.COMMANDS & {"serve", "worker", "view", "chat", "mcp", "warm"}
    assert client.run_warm([]) is None and client.run_warm(["serve"]) is None
