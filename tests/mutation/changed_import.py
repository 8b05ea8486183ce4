"""Imports a module with other code than its file holds."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType


class ChangedImport(importlib.abc.MetaPathFinder):
    """To be put first in `sys.meta_path`: the module at `path`, under `root`, gets `code`."""

    def __init__(self, root: Path, path: str, code: CodeType) -> None:
        self._name = ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")
        self._path, self._code = str(root / path), code

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the signature is Python's
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Loader(fullname, self._path, self._code)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - it loads one module only
        return self._code
