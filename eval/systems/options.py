"""Reads a system's own keys out of its section of an evaluation's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from nscma_torch.core.config import Section, override

OptionsT = TypeVar("OptionsT", bound=Section)
_OF_THE_RUN = ("kind", "name", "tasks")


def options_of(defaults: OptionsT, section: Mapping[str, Any]) -> OptionsT:
    """The options with the section's values. Raises `ConfigError` for an unknown key or a bad value."""
    own = {key: value for key, value in section.items() if key not in _OF_THE_RUN}
    return override(defaults, own, where=f"system {section.get('name')!r} of kind {section.get('kind')!r}")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Sections of a configuration, those above laid over those below key by key."""
    found = dict(below)
    for key, value in above.items():
        inner = found.get(key)
        found[key] = merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return found
