"""How far work has come: a share of what there is, within a long message too; lines where there is no terminal."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from nscma_torch import Memory
from nscma_torch.cli import adding, app, progress
from nscma_torch.text.files.file_readers import read_messages

CONFIG = {"embedder": {"model": "hash"}, "chunker": {"max_tokens": 32}}
DOCUMENT = "The ferry leaves at nine and the island is small.\n" * 2000


def test_adding_tells_of_bytes_within_one_long_message_up_to_all_of_them(tmp_path: Path) -> None:
    source = tmp_path / "book.txt"
    source.write_text(DOCUMENT * 2 + "\n\nThe end of it all.\n")
    total = adding._text_bytes([source], None, 1 << 20)
    heard: list[int] = []
    with Memory(tmp_path / "book.db", config=CONFIG) as memory:
        added = list(memory.add_many(read_messages(source), user_id="ada", progress=heard.append))
    assert total == sum(len(item.text.encode()) for item in added)
    assert sum(heard) == total and min(heard) > 0
    assert len(heard) >= 4, "more often than once a message"


def test_what_cannot_be_counted_has_no_total(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"role": "user", "content": "Hello."}\nnot JSON\n')
    assert adding._text_bytes([broken], None, 1 << 20) is None
    with broken.open("rb") as stream:
        assert adding._text_bytes([stream], None, 1 << 20) is None
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)  # as in `nscma add <(…)`: it can be read once, and opening it would wait for a writer
    assert adding._text_bytes([pipe], "text", 1 << 20) is None


def test_without_a_terminal_lines_tell_amount_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 6.0, 7.0, 20.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.progress("remembering", 1_000_000, in_bytes=True) as advance:
        for done in (100_000, 250_000, 300_000, 500_000):
            advance(done)
        advance(900_000, 1_200_000)
    assert capsys.readouterr().err.splitlines() == [
        "remembering: 250.0 kB of 1.0 MB, 41.7 kB/s, about 18 s left",
        "remembering: 500.0 kB of 1.0 MB, 25.0 kB/s, about 20 s left",
        "remembering: 900.0 kB of 1.2 MB, 22.5 kB/s, about 13 s left",
    ]


def test_the_command_draws_no_bar_into_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    source, config = tmp_path / "book.txt", tmp_path / "config.toml"
    source.write_text(DOCUMENT)
    config.write_text('[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n')
    result = CliRunner().invoke(app, ["add", str(source), "--store", str(tmp_path / "s.db"), "--config", str(config)])
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert any(line.startswith("remembering: 100.0 kB of 100.0 kB, ") for line in lines), lines
    assert any(line.startswith("extracting: ") and " of " in line for line in lines), lines
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_few_a_second_are_told_by_the_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.progress("sleeping") as advance:
        advance(5)
        advance(1_200, 6_000)
    assert capsys.readouterr().err.splitlines() == [
        "sleeping: 5, 30.0/min",
        "sleeping: 1,200 of 6,000, 60/s, about 80 s left",
    ]


def test_on_a_terminal_a_bar_with_the_rate_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = StringIO()
    monkeypatch.setattr(progress, "errors", Console(file=terminal, force_terminal=True, width=120))
    for title, in_bytes, rate in (("importing", False, "/s"), ("remembering", True, "/s")):
        with progress.progress(title, 1_000, in_bytes=in_bytes) as advance:
            for done in range(0, 1_000, 100):
                advance(done)
        assert title in terminal.getvalue() and rate in terminal.getvalue() and "\x1b" in terminal.getvalue()
        terminal.truncate(0)


def test_export_import_and_sleep_tell_how_much_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("light.toml").write_text('[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n')
    monkeypatch.setenv("NSCMA_CONFIG", "light.toml")

    def told(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == 0, result.output
        return result.stderr.splitlines()[-1]

    told("add", "--text", "ok", "well", "I live in Porto.", "hm")
    exported = told("export", "all.jsonl")
    rows = len(Path("all.jsonl").read_text(encoding="utf-8").splitlines()) - 1
    assert exported.startswith(f"exporting: {rows} of {rows}, ")
    assert told("export").startswith(f"exporting: {rows} of {rows}, ")
    imported = CliRunner().invoke(app, ["import", "all.jsonl", "--store", "copy.db"])
    assert f"importing: {rows} of {rows}, " in imported.stderr
    asleep = CliRunner().invoke(app, ["sleep"]).stderr
    assert "sleeping: " in asleep and " of " in asleep
