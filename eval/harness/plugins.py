"""Classes of your own, named `package.module:Class`, where a configuration names a kind of task or system."""

from __future__ import annotations

import importlib
from typing import Any

from nscma_torch.core.errors import ConfigError


def is_plugin(kind: str) -> bool:
    """Whether a kind names a class, and none that ships here."""
    return ":" in kind


def plugin(kind: str) -> Any:
    """The class that `package.module:Class` names, found on `sys.path`. Raises `ConfigError` where there is none."""
    module, _, name = kind.partition(":")
    if not (module and name.isidentifier()):
        raise ConfigError(f"{kind!r} names no class; write package.module:Class")
    try:
        found: Any = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise ConfigError(f"{kind!r} cannot be imported: {error}") from error
        raise ConfigError(
            f"{kind!r}: there is no module {error.name!r} on the path; run in its folder, or set PYTHONPATH"
        ) from error
    if not callable(found):
        raise ConfigError(f"{kind!r}: {module} has no class {name}")
    return found
