"""Changes in settings files of other programs: what else they hold stays, and a backup is made beside them."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nscma_torch.core.errors import ConfigError, StoreAccessError
from nscma_torch.core.extras import require


@dataclass(frozen=True, slots=True)
class SetKey:
    """Set the value at a path of keys."""

    keys: tuple[str, ...]
    value: Any

    def apply(self, document: MutableMapping[str, Any], form: FileFormat) -> None:
        """Set it in a document."""
        table = _table(document, self.keys[:-1], form)
        if table.get(self.keys[-1]) != self.value:
            table[self.keys[-1]] = self.value


@dataclass(frozen=True, slots=True)
class Include:
    """Have an object in the list at a path of keys; one with the same `key` is replaced."""

    keys: tuple[str, ...]
    value: dict[str, Any]
    key: str

    def apply(self, document: MutableMapping[str, Any], form: FileFormat) -> None:
        """Include it in a document. Raises `ConfigError` where something else than a list is there."""
        items = _list(document, self.keys, form)
        own = self.value[self.key]
        items[:] = [one for one in items if not (isinstance(one, dict) and one.get(self.key) == own)] + [self.value]


@dataclass(frozen=True, slots=True)
class Hook:
    """Have commands run at an event; earlier ones that `own` fits go, those of others stay where they are."""

    event: str
    hooks: Sequence[dict[str, Any]]
    own: re.Pattern[str]

    def apply(self, document: MutableMapping[str, Any], form: FileFormat) -> None:
        """Put them into a document. Raises `ConfigError` where something else than a list is there."""
        groups = _list(document, ("hooks", self.event), form)
        kept = []
        for group in groups:
            within = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(within, list) and any(map(self._is_own, within)):
                others = [one for one in within if not self._is_own(one)]
                kept += [{**group, "hooks": others}] if others else []
            else:
                kept.append(group)
        groups[:] = [*kept, {"hooks": list(self.hooks)}]

    def _is_own(self, hook: object) -> bool:
        return isinstance(hook, dict) and bool(self.own.search(str(hook.get("command", ""))))


Change = SetKey | Include | Hook


class FileFormat(ABC):
    """A file format."""

    name: ClassVar[str]

    @abstractmethod
    def read(self, text: str) -> MutableMapping[str, Any]:
        """The document of a text. Raises ValueError."""

    @abstractmethod
    def write(self, document: MutableMapping[str, Any]) -> str:
        """The text of a document."""

    @abstractmethod
    def table(self) -> MutableMapping[str, Any]:
        """An empty table, for other tables."""


class JsonFormat(FileFormat):
    """JSON; of a file with comments nothing is changed, as they would be lost."""

    name = "json"

    def read(self, text: str) -> MutableMapping[str, Any]:
        found = json.loads(text, object_pairs_hook=_once) if text.strip() else {}
        if not isinstance(found, dict):
            raise ValueError("it is not a JSON object")
        return found

    def write(self, document: MutableMapping[str, Any]) -> str:
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def table(self) -> MutableMapping[str, Any]:
        return {}


class TomlFormat(FileFormat):
    """TOML; comments and the order of keys stay."""

    name = "toml"

    def read(self, text: str) -> MutableMapping[str, Any]:
        found: MutableMapping[str, Any] = self._library.parse(text)
        return found

    def write(self, document: MutableMapping[str, Any]) -> str:
        return str(self._library.dumps(document))

    def table(self) -> MutableMapping[str, Any]:
        made: MutableMapping[str, Any] = self._library.table(is_super_table=True)
        return made

    @property
    def _library(self) -> Any:
        return require("tomlkit", extra="http", purpose="a settings file in TOML")


FORMS: dict[str, FileFormat] = {form.name: form for form in (JsonFormat(), TomlFormat())}


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """The changes of one file."""

    path: Path
    form: str
    changes: Sequence[Change]

    def snippet(self) -> str:
        """Return the settings as a file that holds nothing else."""
        return self._changed("")

    def planned(self) -> EditPlan | None:
        """Plan the edit; None if the file already has the settings.

        Raises:
            ConfigError: the file does not parse, or holds something else where a table must be.
            StoreAccessError: it cannot be read.
        """
        target = self.path.resolve()  # a link stays one
        try:
            before = target.read_bytes() if target.exists() else None
            old = "" if before is None else before.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self.path} is not UTF-8; nothing was changed") from error
        except OSError as error:
            raise StoreAccessError(f"cannot read {self.path}: {error.strerror or error}") from error
        new = self._changed(old)
        form = FORMS[self.form]
        return None if before is not None and form.read(old) == form.read(new) else EditPlan(target, before, new)

    def _changed(self, text: str) -> str:
        form = FORMS[self.form]
        try:
            document = form.read(text)
        except ValueError as error:
            raise ConfigError(
                f"{self.path} does not parse as {self.form.upper()} ({error}); nothing was changed: edit it by hand"
            ) from error
        try:
            for change in self.changes:
                change.apply(document, form)
        except ConfigError as error:
            raise ConfigError(f"{self.path}: {error}") from error
        return form.write(document)


@dataclass(frozen=True, slots=True)
class EditPlan:
    """A file to be written in the place of what it was (None: there was none)."""

    target: Path
    before: bytes | None
    text: str

    def write(self) -> Path | None:
        """Write it; returns the path of the backup, None where there was no file.

        Raises:
            ConfigError: another program has changed the file in the meantime; it is as that one left it.
            StoreAccessError: it cannot be written; it is as it was.
        """
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".nscma.", dir=self.target.parent)  # mode 0600
            part = Path(name)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
                    out.write(self.text)
                    out.flush()
                    os.fsync(descriptor)
                backup = self._backup(part)
                part.replace(self.target)
                return backup
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise StoreAccessError(f"cannot write {self.target}: {error.strerror or error}") from error

    def _backup(self, part: Path) -> Path | None:
        if (self.target.read_bytes() if self.target.exists() else None) != self.before:
            raise ConfigError(f"{self.target} was just changed by another program; stop it and try again")
        if self.before is None:
            return None
        shutil.copymode(self.target, part)
        backup = _free_name(self.target)
        shutil.copy2(self.target, backup)
        return backup


def _free_name(target: Path) -> Path:
    number = 1
    while (found := target.with_name(f"{target.name}.bak{number}")).exists():
        number += 1
    return found


def _table(document: MutableMapping[str, Any], keys: Sequence[str], form: FileFormat) -> MutableMapping[str, Any]:
    """The table at a path of keys, made where there is none."""
    for place, key in enumerate(keys, start=1):
        if key not in document:
            document[key] = form.table()
        document = document[key]
        if not isinstance(document, MutableMapping):
            raise ConfigError(f"{'.'.join(keys[:place])} is not a table; nothing was changed")
    return document


def _list(document: MutableMapping[str, Any], keys: Sequence[str], form: FileFormat) -> list[Any]:
    """The list at a path of keys, made where there is none."""
    items = _table(document, keys[:-1], form).setdefault(keys[-1], [])
    if not isinstance(items, list):
        raise ConfigError(f"{'.'.join(keys)} is not a list; nothing was changed")
    return items


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are each there once: of two values one would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is duplicated")
    return found
