"""Files of exports, and what is read from them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.compat.exports.importing import read_export
from nscma_torch.core.records import Message

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Reading:
    """The messages in an export, and what was reported."""

    def __init__(self, kind: str, path: Path, **options: Any) -> None:
        self.reports: list[str] = []
        exported = read_export(kind, path, now=NOW, report=self.reports.append, **options)
        self.messages: list[Message] = [one.message for one in exported]
        assert len(exported) == len(self.messages)
        assert [one.message for one in exported] == self.messages

    @property
    def said(self) -> list[tuple[str, str | None, str]]:
        return [(one.role, one.name, one.content) for one in self.messages]

    @property
    def keys(self) -> list[str | None]:
        return [one.idempotency_key for one in self.messages]


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    """Write files by their paths, values as JSON, into a folder or an archive."""

    def write(contents: dict[str, Any], *, name: str = "export") -> Path:
        texts = {key: one if isinstance(one, str) else json.dumps(one) for key, one in contents.items()}
        if name.endswith(".zip"):
            with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
                for key, text in texts.items():
                    archive.writestr(key, text)
            return tmp_path / name
        for key, text in texts.items():
            path = tmp_path / name / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return tmp_path / name

    return write
