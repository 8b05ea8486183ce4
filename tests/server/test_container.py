"""The container image without a container: what its file copies, its command and health check, and its environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from nscma_torch.cli import app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "configs" / "deploy"
LINES = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE).splitlines()
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES if line]
LIGHT = 'device = "cpu"\n[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n'


def last(instruction: str) -> str:
    return [rest for name, rest in STEPS if name == instruction][-1]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in shlex.split(last("ENV")))


def test_what_is_copied_is_there() -> None:
    copied = [rest.split()[0] for name, rest in STEPS if name == "COPY" and not rest.startswith("--from=build ")]
    assert "dist/*.whl" in copied
    for name in copied:
        assert name == "dist/*.whl" or (ROOT / name).is_file(), name
    run = next(rest for name, rest in STEPS if name == "RUN" and "lean.sh" in rest)
    assert "sh configs/deploy/lean.sh /opt/nscma " in run and "--from=build /opt/nscma /opt/nscma" in [
        r for _, r in STEPS
    ]


def test_it_runs_without_root_and_keeps_its_store_in_the_volume() -> None:
    names = [name for name, _ in STEPS]
    assert last("USER") == "1000" and names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN")
    assert Path(environment()["NSCMA_STORE"]).parent == Path(last("VOLUME"))
    assert re.search(r"--owner nscma --mode 700 /data$", last("RUN")), "the volume takes the folder's owner"


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_its_command_and_health_check(tmp_path: Path) -> None:
    """Both as written, with the store, the host and the port of this test."""
    words = json.loads(last("ENTRYPOINT")) + json.loads(last("CMD"))
    assert words == ["nscma", "serve", "--host", "0.0.0.0"]
    store = tmp_path / Path(environment()["NSCMA_STORE"]).name
    (tmp_path / "light.toml").write_text(LIGHT)
    made = CliRunner().invoke(app, ["token", "add", "--tokens", f"{store}.tokens", "--user", "ana"])
    assert made.exit_code == 0, made.output
    words[words.index("0.0.0.0")] = "127.0.0.1"
    command = [sys.executable, "-m", "nscma_torch", *words[1:], "--port", "0", "--json"]
    settings = {**os.environ, "NSCMA_STORE": str(store), "NSCMA_CONFIG": str(tmp_path / "light.toml")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        served = check(url)
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert served.returncode == 0, served.stderr
    assert store.is_file()
    assert check(url).returncode == 1, "nothing listens"


def check(url: str) -> subprocess.CompletedProcess[str]:
    _, *rest = json.loads(last("HEALTHCHECK").partition(" CMD ")[2])
    rest[1] = rest[1].replace(f"http://127.0.0.1:{last('EXPOSE')}", url)
    return subprocess.run([sys.executable, *rest], capture_output=True, text=True)


@pytest.mark.skipif(os.name != "posix", reason="a script of sh")
def test_the_lean_environment_loses_what_never_runs(tmp_path: Path) -> None:
    """With a `uv` that writes down how it was called and makes a torch."""
    calls = tmp_path / "bin"
    calls.mkdir()
    (calls / "uv").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n[ "$1" = venv ] && exit\ncat > {tmp_path}/excluded\n'
        "cd env/lib/python3.11/site-packages/torch && mkdir -p test include bin\n"
        "touch test/t include/i bin/protoc bin/torch_shm_manager lib/l\n"
    )
    (calls / "uv").chmod(0o755)
    torch = tmp_path / "env/lib/python3.11/site-packages/torch"
    (torch / "lib").mkdir(parents=True)
    command = ["sh", str(DEPLOY / "lean.sh"), "env", "dist/a.whl[server]"]
    settings = {**os.environ, "PATH": f"{calls}:{os.environ['PATH']}"}
    settings.pop("TORCH", None)
    subprocess.run(command, cwd=tmp_path, env=settings, check=True)
    left = {str(path.relative_to(torch)) for path in torch.rglob("*") if path.is_file()}
    assert left == {"bin/torch_shm_manager", "lib/l"}
    made, installed = (tmp_path / "calls").read_text().splitlines()
    assert made == "venv --quiet env"
    assert installed.endswith("--excludes - --torch-backend cpu dist/a.whl[server]")
    assert (tmp_path / "excluded").read_text() == "sentence-transformers\nhf-xet\n"
    subprocess.run(command, cwd=tmp_path, env={**settings, "TORCH": "--find-links wheels"}, check=True)
    assert "--excludes - --find-links wheels dist/a.whl" in (tmp_path / "calls").read_text()


def test_compose_starts_what_exists() -> None:
    """Its services' commands and options are of this program, and each variable that it passes on is asked for."""
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name in ("store", "server"):
        build, (command, *rest) = services[name]["build"], services[name]["command"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
        options = {option for one in commands[command].params for option in one.opts}
        assert {word for word in rest if word.startswith("--")} <= options
    assert services["nginx"]["depends_on"] == {"server": {"condition": "service_healthy"}}
    assert "APP_PASSWORD" in (DEPLOY / "role.sh").read_text(encoding="utf-8")
    assert set(compose["secrets"]) == set(services["server"]["secrets"]) == {"tokens"}
