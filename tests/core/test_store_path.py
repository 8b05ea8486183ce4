"""What the address of a store names, and which files are the store's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.core.database.store_path import file_of, is_of

LIGHT = 'device = "cpu"\n[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\n'


@pytest.mark.sqlite_file("a database has no files")
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_files_of_the_store_are_neither_written_nor_read_by_commands(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are there at the moment or not."""
    monkeypatch.chdir(tmp_path)
    Path("light.toml").write_text(LIGHT)
    own = ["--store", "own.db", "--config", "light.toml"]
    assert CliRunner().invoke(app, ["add", "--text", "I moved.", *own]).exit_code == 0
    Path("alias").symlink_to(f"own.db{end}")
    for name in (f"own.db{end}", "alias"):
        refused = CliRunner().invoke(app, ["export", name, *own])
        assert refused.exit_code == 1 and "belongs to the store itself" in str(refused.exception), name
        assert is_of("own.db", name)
    if Path(f"own.db{end}").exists():
        refused = CliRunner().invoke(app, ["add", f"own.db{end}", *own])
        assert refused.exit_code == 1 and "belongs to the store itself" in str(refused.exception)
    assert CliRunner().invoke(app, ["export", "other.jsonl", *own]).exit_code == 0
    assert CliRunner().invoke(app, ["stats", *own]).exit_code == 0


def test_a_database_has_no_files() -> None:
    assert file_of("postgresql://host/db") is None and not is_of("postgresql://host/db", "db")
    assert file_of("a.db") == Path("a.db")
