"""Optional packages, imported at the point of use; the error names the extra that brings them."""

from __future__ import annotations

import importlib
from types import ModuleType

from nscma_torch.errors import MissingDependencyError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or raise `MissingDependencyError` with the pip line that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there, and one of its own imports is not
        raise MissingDependencyError(
            f"{purpose} needs the package {module!r}; install it with: pip install 'nscma-torch[{extra}]'"
        ) from error
