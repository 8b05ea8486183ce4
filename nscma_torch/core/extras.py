"""Import optional packages at the point of use, with an error that says how to install them."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

from nscma_torch.core.errors import MissingDependencyError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or raise `MissingDependencyError` with the pip command that installs it."""
    return _imported(module, f"nscma-torch[{extra}]", purpose)


def import_torch_geometric(purpose: str) -> None:
    """Import PyTorch Geometric, a required dependency that takes longer to import than torch.

    Raises `MissingDependencyError` if it isn't installed.
    """
    with warnings.catch_warnings():  # torch_geometric 2.8 calls torch.jit.script when it is imported
        warnings.simplefilter("ignore", DeprecationWarning)
        _imported("torch_geometric.data", "torch-geometric>=2.6", purpose)


def _imported(module: str, requirement: str, purpose: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there, and one of its own imports is not
        raise MissingDependencyError(
            f"{purpose} needs the package {module.partition('.')[0]!r}; install it with: pip install '{requirement}'"
        ) from error
