"""The tokens file: the user and rights for each token. A token is shown only when created; the file contains its
SHA-256.

A token has 256 random bits, so a plain digest is safe.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nscma_torch.api.operations import Right
from nscma_torch.core.database.store_path import file_of, open_to_others
from nscma_torch.core.errors import ConfigError, InvalidInputError, NotFoundError, StoreAccessError
from nscma_torch.core.records import Scope

RIGHTS: tuple[Right, ...] = get_args(Right)
_PREFIX = "nscma_"  # scanners of secrets know tokens by their beginning


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """The entry for one token. `id` is its readable name, `user` is None if it is valid for any user, and `sha256` is
    the token's digest.
    """

    id: str
    user: str | None
    can: tuple[Right, ...]
    sha256: str
    made_at: str


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1]
    tokens: tuple[TokenEntry, ...] = Field(())


class TokenFile:
    """The tokens in a file, reloaded whenever the file changes.

    If the file disappears, all requests are refused. Only a server that has never seen a tokens file accepts requests
    from its own machine without a token.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[TokenEntry, ...] = ()
        self._known = False

    @property
    def required(self) -> bool:
        """Return True if requests need a token."""
        self._refresh()
        return self._known

    def find(self, token: str) -> TokenEntry | None:
        """Return the entry for a token, or None if it is unknown. All entries are compared, each in constant time.

        Raises `ConfigError` if the file isn't a tokens file, or if other users of this machine can read it.
        """
        self._refresh()
        digest = _digest(token)
        found = None
        for entry in self._tokens:
            if hmac.compare_digest(entry.sha256, digest):
                found = entry
        return found

    def all(self) -> Sequence[TokenEntry]:
        """Return all entries, oldest first. Returns no entries if there is no file."""
        self._refresh()
        return self._tokens

    def add(self, user: str | None, can: Iterable[str]) -> tuple[str, TokenEntry]:
        """Create a token and its entry. Raises `InvalidInputError` if a right is unknown or no right is given."""
        rights = tuple(right for right in RIGHTS if right in (wanted := set(can)))
        if unknown := sorted(wanted - set(RIGHTS)):
            raise InvalidInputError(f"unknown right {unknown[0]!r}; rights are {', '.join(RIGHTS)}")
        if not rights:
            raise InvalidInputError(f"a token needs at least one right; rights are {', '.join(RIGHTS)}")
        if user is not None:
            Scope(user)
        token = _PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = TokenEntry(secrets.token_hex(4), user, rights, _digest(token), now)
        with self._changing():
            self._save((*self._tokens, entry))
        return token, entry

    def revoke(self, id: str) -> TokenEntry:
        """Revoke a token. Raises `NotFoundError` for an unknown id."""
        with self._changing():
            gone = next((entry for entry in self._tokens if entry.id == id), None)
            if gone is None:
                raise NotFoundError(f"{self.path} has no token with id {id!r}; `nscma token list` shows the ids")
            self._save(tuple(entry for entry in self._tokens if entry.id != id))
        return gone

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._seen, self._tokens = None, ()
            return
        except OSError as error:
            raise ConfigError(f"the tokens file {self.path} cannot be read: {error.strerror}") from error
        self._known = True
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if seen != self._seen:
            self._seen, self._tokens = None, ()  # an unreadable file grants no access
            self._tokens = self._read()
            self._seen = seen

    def _read(self) -> tuple[TokenEntry, ...]:
        if open_to_others(self.path):
            raise ConfigError(f"other users of this machine can read {self.path}; run: chmod 600 {self.path}")
        try:
            return _File.model_validate_json(self.path.read_bytes()).tokens
        except OSError as error:
            raise ConfigError(f"the tokens file {self.path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise ConfigError(f"{self.path} is not a tokens file; create one with `nscma token add`") from error

    @property
    def _part(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the file for a change. The new file is created exclusively, then replaces the old one."""
        try:
            os.close(os.open(self._part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError as error:
            raise StoreAccessError(
                f"another `nscma token` is changing {self.path}; if it was killed, remove {self._part}"
            ) from error
        except OSError as error:
            raise StoreAccessError(f"cannot write {self.path}: {error.strerror}") from error
        try:
            self._refresh()
            yield
        finally:
            self._part.unlink(missing_ok=True)

    def _save(self, tokens: Sequence[TokenEntry]) -> None:
        text = json.dumps({"version": 1, "tokens": [asdict(entry) for entry in tokens]}, indent=1)
        try:
            with self._part.open("w", encoding="utf-8") as out:
                out.write(text + "\n")
                out.flush()
                os.fsync(out.fileno())
            self._part.chmod(0o600)
            self._part.replace(self.path)
        except OSError as error:
            raise StoreAccessError(f"cannot write {self.path}: {error.strerror}") from error
        self._refresh()


def beside(store: str) -> Path:
    """Return the default path of a store's tokens file: next to the store's file, or in the working folder if the store
    has no file.
    """
    file = file_of(store)
    return Path("nscma.tokens") if file is None else file.with_name(f"{file.name}.tokens")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()
