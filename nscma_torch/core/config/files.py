"""Read configurations from TOML, and generate the file of default values."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from nscma_torch.core.config.section import Section
from nscma_torch.core.config.sections import Config
from nscma_torch.core.config.unknown_keys import explained
from nscma_torch.core.errors import ConfigError

SectionT = TypeVar("SectionT", bound=Section)


def load_config(source: str | Path | Mapping[str, Any] | None = None) -> Config:
    """Load a configuration from a TOML file, the name of a bundled configuration, a mapping of sections, or the
    defaults.

    A name is the path of a file below `configs/` without its suffix, such as "cpu" or "papers/cam". If a file exists at
    the given path, it takes precedence.

    Raises `ConfigError` for a missing or unparseable file, an unknown key, or a bad value.
    """
    if source is None:
        return Config()
    if isinstance(source, Mapping):
        return _validated(Config, source, "the configuration")
    if not isinstance(source, str | Path):
        raise ConfigError(f"a configuration must be a path or a mapping of sections, got {type(source).__name__}")
    return _validated(Config, read_toml(_shipped(source) or source), str(source))


def shipped() -> dict[str, Traversable]:
    """Return the configurations bundled with the package, keyed by name."""
    folder = resources.files("nscma_torch.configs")
    papers = folder / "papers"
    files = {path.name: path for path in folder.iterdir() if path.name != "relations.toml"}
    files |= {f"papers/{path.name}": path for path in (papers.iterdir() if papers.is_dir() else ())}
    return {name.removesuffix(".toml"): path for name, path in sorted(files.items()) if name.endswith(".toml")}


def _shipped(source: str | Path) -> Traversable | None:
    """Return the bundled configuration with this name; None if `source` has a suffix or is an existing file.

    Raises `ConfigError` for an unknown name.
    """
    name = Path(source).as_posix()
    if Path(source).suffix or Path(source).exists():
        return None
    known = shipped()
    if name in known:
        return known[name]
    (near,) = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    raise ConfigError(f"there is no file {name}, and no configuration of that name; did you mean {near!r}?")


def read_toml(path: str | Path | Traversable) -> dict[str, Any]:
    """Parse a TOML file. Raises `ConfigError` if the file is missing or invalid."""
    file = Path(path) if isinstance(path, str) else path
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def override(section: SectionT, values: Mapping[str, Any], *, where: str = "the override") -> SectionT:
    """Return a copy of a section with some keys changed, also in nested sections, validated as if read from a file.

    Raises `ConfigError` for an unknown key or a bad value; the message begins with `where`.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must map keys to values, got {type(values).__name__}")
    merged = section.model_dump()
    for key, value in values.items():
        inner = isinstance(merged.get(key), dict) and isinstance(value, Mapping)
        merged[key] = {**merged[key], **value} if inner else value
    return _validated(type(section), merged, where)


def _validated(model: type[SectionT], values: Mapping[str, Any], where: str) -> SectionT:
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError(f"{where}: {explained(model, error)}") from error


def default_toml() -> str:
    """Generate `configs/default.toml`: every key with its default value, preceded by its description."""
    head = (
        "# Every key with its default. Copy what you change into a file of your own: nscma … --config FILE\n"
        "# Made from nscma_torch/core/config/sections.py by nscma_torch.core.config.default_toml();\n"
        "# a test compares the two.\n\n"
    )
    return head + "\n".join(_section_lines(Config(), ""))


def _section_lines(section: Section, name: str) -> list[str]:
    """Return the TOML lines for a section: first its keys, then its subsections."""
    fields = type(section).model_fields
    inner = {key for key in fields if isinstance(getattr(section, key), Section)}
    lines = [f"# {(type(section).__doc__ or '').strip()}", f"[{name}]"] if name else []
    for key, field in fields.items():
        if key not in inner:
            lines += [f"# {field.description}", f"{key} = {_toml(getattr(section, key))}"]
    lines.append("")
    for key in fields:
        if key in inner:
            lines += _section_lines(getattr(section, key), f"{name}.{key}" if name else key)
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
