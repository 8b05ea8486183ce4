"""`nscma view`: an address of this machine, a server of the store that runs already, the browser."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi")

from nscma_torch.cli import app
from nscma_torch.cli import view as command

LIGHT = '[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n'


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_it_serves_the_page_until_it_is_told_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one finds the first, and a browser is opened where there is a display."""
    monkeypatch.chdir(tmp_path)
    Path("light.toml").write_text(LIGHT)
    monkeypatch.setenv("NSCMA_CONFIG", "light.toml")
    monkeypatch.delenv("NSCMA_STORE", raising=False)
    program = [sys.executable, "-m", "nscma_torch", "view", "--port", "0", "--no-open", "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            told = json.loads(process.stdout.readline())
            assert told["event"] == "serving" and told["url"].startswith("http://127.0.0.1:")
            line = http.client.HTTPConnection(told["url"].removeprefix("http://").rstrip("/"), timeout=60)
            line.request("GET", "/")
            answer = line.getresponse()
            assert answer.status == 200 and b"view/main.js" in answer.read()
            line.close()
            opened: list[str] = []
            monkeypatch.setattr(command.webbrowser, "open", opened.append)
            monkeypatch.setenv("DISPLAY", ":0")
            second = CliRunner().invoke(app, ["view"])
            assert second.exit_code == 0 and second.stdout.strip() == told["url"]
            assert opened == [told["url"]]
            assert CliRunner().invoke(app, ["view", "--no-open"]).stdout.strip() == told["url"]
            assert len(opened) == 1
        finally:
            process.send_signal(signal.SIGINT)
        assert json.loads(process.stdout.readline())["event"] == "stopped"
    assert process.returncode == 0


def test_no_browser_of_the_terminal_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not command._has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert command._has_display()


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual one is left to who has it; one that was named is not replaced."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(command, "_PORT", port)
        assert command._free() == 0
    assert command._free() == port
