"""Tell whether two processes have the same configuration, without parsing it. This module imports nothing heavy."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple


class ConfigIdentity(NamedTuple):
    """The digest or name of a configuration, and the folder to which its paths are relative ("" if it has none)."""

    config: str
    folder: str


def config_identity(config: Path | None) -> ConfigIdentity:
    """Return the identity of a configuration file, of a bundled configuration named by `config`, or of the defaults.

    Raises OSError if the file can't be read.
    """
    if config is None:
        return ConfigIdentity("", "")
    if config.is_file():
        return ConfigIdentity(hashlib.sha256(config.read_bytes()).hexdigest(), str(Path.cwd()))
    return ConfigIdentity(f"shipped {config.as_posix()}", "")
