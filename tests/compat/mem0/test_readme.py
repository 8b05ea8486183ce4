"""The example of the README runs and prints what stands there; its table names what is there."""

from __future__ import annotations

import re
from pathlib import Path

import nscma_torch.compat.mem0

TEXT = (Path(nscma_torch.compat.mem0.__file__).parent / "README.md").read_text(encoding="utf-8")
LIGHT = "config = {'nscma': {'config': {'embedder': {'model': 'hash'}, 'reading': {'model': 'none'}}}, "


def test_the_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    exec(code.replace("config = {", LIGHT, 1), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# → (.*)$", code, flags=re.MULTILINE)
    assert (tmp_path / "mem0_data" / "mem0.nscma.db").exists()
