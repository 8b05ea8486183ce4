"""How large files are."""

from __future__ import annotations

from pathlib import Path


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
