"""Writes a memory in the forms that other programs take in; README.md says what has no place there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nscma_torch.compat.exports import to_mem0, to_mempalace
from nscma_torch.errors import EmptyTextError, InvalidInputError, StoreAccessError
from nscma_torch.memory import Memory
from nscma_torch.records import Episode
from nscma_torch.storage.database import ALL_USERS
from nscma_torch.storage.statistics import users_of

_SKIPPED = {"mem0": to_mem0.SKIPPED, "mempalace": to_mempalace.SKIPPED}
KINDS = tuple(_SKIPPED)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: messages and files, and how many messages the other program would pass over (`left_out`)."""

    messages: int
    files: int
    left_out: int


def export_to(kind: str, memory: Memory, target: Path, *, user_id: str | None = None) -> Exported:
    """Write all messages that can be read, of one user or of all, for another program.

    Args:
        kind: "mem0": `target` becomes a file of JSON lines; "mempalace": a new folder of transcripts.

    Raises:
        InvalidInputError: an unknown kind, or an id that the other program refuses; nothing is written.
        EmptyTextError: there is no message to write.
        StoreAccessError: `target` is there already, or cannot be written.
    """
    if kind not in KINDS:
        raise InvalidInputError(f"unknown kind of export {kind!r}; kinds are {', '.join(KINDS)}")
    found = list(_episodes(memory, user_id))
    taken = [one for one in found if one.role not in _SKIPPED[kind]]
    if not taken:
        raise EmptyTextError(f"there is no message to export{'' if user_id is None else f' of {user_id}'}")
    if target.exists() or target.is_symlink():
        raise StoreAccessError(f"{target} is there already; name a new {'file' if kind == 'mem0' else 'folder'}")
    if kind == "mem0":
        lines = [json.dumps(call, ensure_ascii=False) for call in to_mem0.calls(taken)]
        files = {target: "".join(f"{line}\n" for line in lines)}
    else:
        files = {target / name: text for name, text in to_mempalace.transcripts(taken)}
    try:
        for path, text in files.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600, exist_ok=False)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise StoreAccessError(f"cannot write {error.filename or target}: {error.strerror or error}") from error
    return Exported(len(taken), len(files), len(found) - len(taken))


def _episodes(memory: Memory, user_id: str | None) -> Iterator[Episode]:
    """Messages of one user, or of all users of the store, in the order in which they came."""
    if user_id is not None:
        yield from memory.get_all(user_id=user_id, limit=None)
        return
    with memory.components.database.read(ALL_USERS) as connection:
        names = users_of(connection)
    for name in names:
        yield from memory.get_all(user_id=name, limit=None)
