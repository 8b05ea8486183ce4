"""The kinds of export: for each, its reader and the options that apply to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from nscma_torch.compat.exports import (
    chatgpt,
    claude,
    discord,
    gemini,
    mem0,
    mempalace,
    signal,
    slack,
    telegram,
    whatsapp,
)
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.foreign import Found


@dataclass(frozen=True, slots=True)
class ExportKind:
    """A kind of export. `options` are the names of the fields of `Choices` that its reader uses, as on the command
    line.
    """

    read: Callable[[Path, Choices], Iterator[Found]]
    options: tuple[str, ...] = ()


KINDS: Mapping[str, ExportKind] = MappingProxyType(
    {
        "mem0": ExportKind(lambda path, _: mem0.read(path)),
        "mempalace": ExportKind(lambda path, _: mempalace.read(path)),
        "chatgpt": ExportKind(lambda path, _: chatgpt.read(path)),
        "claude": ExportKind(lambda path, _: claude.read(path)),
        "gemini": ExportKind(gemini.read),
        "whatsapp": ExportKind(whatsapp.read, ("me", "zone", "dates")),
        "telegram": ExportKind(telegram.read, ("me", "zone")),
        "slack": ExportKind(slack.read, ("me",)),
        "discord": ExportKind(discord.read, ("me",)),
        "signal": ExportKind(signal.read, ("zone",)),
    }
)
