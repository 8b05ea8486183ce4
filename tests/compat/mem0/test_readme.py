"""The example of the page on migration runs and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[3] / "docs" / "migration.md").read_text(encoding="utf-8")
LIGHT = "config = {'nscma': {'config': {'embedder': {'model': 'hash'}, 'reading': {'model': 'none'}}}, "


def test_the_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    exec(code.replace("config = {", LIGHT, 1), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# → (.*)$", code, flags=re.MULTILINE)
    assert (tmp_path / "mem0_data" / "mem0.nscma.db").exists()
