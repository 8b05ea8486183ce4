"""Paths where no store can be: one clear error each, and no hang. Files that others can read."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.database import store_path
from nscma_torch.core.errors import StoreAccessError

Open = Callable[..., Memory]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets and modes are POSIX's")


def odd(kind: str, folder: Path) -> Path:
    path = folder / "odd.db"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            os.chdir(folder)  # the path of a socket is short
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(path.name)
        case "device":
            return Path(os.devnull)
        case "loop":
            path.symlink_to(folder / "other.db")
            (folder / "other.db").symlink_to(path)
        case "dangling":
            path.symlink_to(folder / "nowhere.db")
        case "hard link":
            path.touch()
            os.link(path, folder / "second.db")
        case "long":
            return folder / ("x" * 300)
        case "long with a suffix":
            return folder / ("x" * 250)
        case "zero byte":
            return folder / "a\0b.db"
    return path


KINDS = {
    "fifo": "a named pipe",
    "socket": "a socket",
    "device": "a device",
    "loop": "symbolic links",
    "dangling": "which does not exist",
    "hard link": "hard links",
    "long": "too long",
    "long with a suffix": "too long",
    "zero byte": "null",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_where_no_store_can_be(
    kind: str, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = odd(kind, tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StoreAccessError, match=KINDS[kind]):
        open_memory(path)
    for command in (["stats"], ["doctor"], ["add", "--text", "I moved."], ["demo"]):
        result = CliRunner().invoke(app, [*command, "--store", str(path)])
        if command == ["doctor"] and "store: none at" in result.output:
            continue  # there is no file, and it makes none
        assert result.exit_code in (1, 2), result.output
        assert isinstance(result.exception, SystemExit | StoreAccessError) or "exists already" in str(result.exception)
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_only_the_owner_can_read_what_is_made(
    umask: None, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "folder").chmod(0o700)
    memory = open_memory("folder/store.db")
    memory.add("I moved to Porto.", user_id="ada")
    assert modes(tmp_path / "folder") == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)
    assert not any(store_path.open_to_others(path) for path in memory.components.database.files())
    memory.close()
    exported = tmp_path / "folder" / "export.jsonl"
    exported.touch()
    exported.chmod(0o644)
    during: list[dict[str, int]] = []
    lines = Memory.export

    def export(self: Memory, **named: str | None) -> Iterator[str]:
        during.append(modes(tmp_path / "folder"))
        yield from lines(self, **named)

    monkeypatch.setattr(Memory, "export", export)
    result = CliRunner().invoke(app, ["export", str(exported), "--store", str(tmp_path / "folder" / "store.db")])
    assert result.exit_code == 0, result.output
    assert [mode for name, mode in during[0].items() if name.endswith(".part")] == [0o600]
    assert modes(tmp_path / "folder") == {"store.db": 0o600, "export.jsonl": 0o600}


def test_doctor_warns_of_a_store_that_others_can_read(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_memory().close()
    (tmp_path / "light.toml").write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n')
    doctor = ["doctor", "--store", "store.db", "--config", "light.toml"]
    assert "chmod 600" not in CliRunner().invoke(app, doctor).output
    (tmp_path / "store.db").chmod(0o640)
    result = CliRunner().invoke(app, doctor)
    assert result.exit_code == 1
    assert f"chmod 600 {tmp_path.resolve() / 'store.db'}" in result.output


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", "link.db"])
def test_the_store_is_no_target_and_no_source(
    name: str, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = open_memory()
    kept = memory.add("I moved to Porto.", user_id="ada")[0].id
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    for command in (["export", name], ["add", name]):
        result = CliRunner().invoke(app, [*command, "--store", "store.db"])
        assert "store itself" in str(result.exception) + result.output, result.output
    assert memory.get(kept, user_id="ada") is not None
    memory.add("I am still there.", user_id="ada")
    assert CliRunner().invoke(app, ["export", os.devnull, "--store", "store.db"]).exit_code != 0
    assert not Path(os.devnull).is_file()
