"""Edit other programs' settings files, keeping all other content and creating a backup."""

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
    """Edit that sets the value at a path of keys."""

    keys: tuple[str, ...]
    value: Any

    def apply(self, document: MutableMapping[str, Any], form: FileFormat) -> None:
        """Set the value in a document."""
        table = _table(document, self.keys[:-1], form)
        if table.get(self.keys[-1]) != self.value:
            table[self.keys[-1]] = self.value


@dataclass(frozen=True, slots=True)
class Include:
    """Edit that puts an object into the list at a path of keys, replacing one with the same value under `key`."""

    keys: tuple[str, ...]
    value: dict[str, Any]
    key: str

    def apply(self, document: MutableMapping[str, Any], form: FileFormat) -> None:
        """Include the object in a document. Raises `ConfigError` if the value at the path isn't a list."""
        items = _list(document, self.keys, form)
        own = self.value[self.key]
        items[:] = [one for one in items if not (isinstance(one, dict) and one.get(self.key) == own)] + [self.value]


@dataclass(frozen=True, slots=True)
class Hook:
    """Edit that runs commands at an event. It replaces earlier commands matched by `own` and keeps those of other
    programs.
    """

    event: str
    hooks: Sequence[dict[str, Any]]
    own: re.Pattern[str]

    def apply(self, document: MutableMapping[str, Any], form: FileFormat) -> None:
        """Put the commands into a document. Raises `ConfigError` if the value at the path isn't a list."""
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
    """A settings file format."""

    name: ClassVar[str]

    @abstractmethod
    def read(self, text: str) -> MutableMapping[str, Any]:
        """Parse a text into a document. Raises `ValueError` if it is invalid."""

    @abstractmethod
    def write(self, document: MutableMapping[str, Any]) -> str:
        """Serialise a document as text."""

    @abstractmethod
    def table(self) -> MutableMapping[str, Any]:
        """Return an empty table that can contain other tables."""


class JsonFormat(FileFormat):
    """JSON. A file with comments is refused, because the comments would be lost."""

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
    """TOML. Comments and the order of keys are preserved."""

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
    """Changes to one file."""

    path: Path
    form: str
    changes: Sequence[Change]

    def snippet(self) -> str:
        """Return the content of a file with only these settings."""
        return self._changed("")

    def planned(self) -> EditPlan | None:
        """Plan the edit; return None if the file already has the settings.

        Raises:
            ConfigError: the file doesn't parse, or has another value where a table is expected.
            StoreAccessError: the file can't be read.
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
    """A file to be written, with its earlier content (None for a new file)."""

    target: Path
    before: bytes | None
    text: str

    def write(self) -> Path | None:
        """Write the file and return the path of the backup, or None for a new file.

        Raises:
            ConfigError: another program changed the file in the meantime; that version is kept.
            StoreAccessError: the file can't be written and is unchanged.
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
    """Return the table at a path of keys; create it if it is missing."""
    for place, key in enumerate(keys, start=1):
        if key not in document:
            document[key] = form.table()
        document = document[key]
        if not isinstance(document, MutableMapping):
            raise ConfigError(f"{'.'.join(keys[:place])} is not a table; nothing was changed")
    return document


def _list(document: MutableMapping[str, Any], keys: Sequence[str], form: FileFormat) -> list[Any]:
    """Return the list at a path of keys; create it if it is missing."""
    items = _table(document, keys[:-1], form).setdefault(keys[-1], [])
    if not isinstance(items, list):
        raise ConfigError(f"{'.'.join(keys)} is not a list; nothing was changed")
    return items


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from key-value pairs. Refuses duplicate keys, because one of their values would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is duplicated")
    return found
