"""Explain validation errors in a configuration."""

from __future__ import annotations

import difflib

from pydantic import ValidationError

from nscma_torch.core.config.section import Section


def explained(model: type[Section], error: ValidationError) -> str:
    """Describe the first validation problem; for an unknown key, suggest the nearest known one."""
    problem = error.errors()[0]
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "value_error":  # of keys, or of sections, that do not go together
        said = problem["msg"].removeprefix("Value error, ")
        return f"{name}: {said}" if name else said
    *parents, key = (str(part) for part in problem["loc"])
    if problem["type"] != "extra_forbidden":
        return f"{name}: {problem['msg']}, got {problem['input']!r}"
    known = _keys_at(model, parents)
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    return f"unknown key {name!r}; did you mean {'.'.join([*parents, *close])!r}?"


def _keys_at(model: type[Section], parents: list[str]) -> list[str]:
    for parent in parents:
        inner = model.model_fields[parent].annotation
        assert isinstance(inner, type) and issubclass(inner, Section)
        model = inner
    return list(model.model_fields)
