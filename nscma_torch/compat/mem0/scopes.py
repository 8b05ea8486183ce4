"""Convert mem0's `user_id`, `agent_id` and `run_id` to a `Scope`.

mem0 requires one of the three. Here, every memory belongs to a user, so memories without a user belong to `NO_USER`, a
name that no caller can pass, as mem0's ids contain no whitespace.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from nscma_torch.compat.mem0.exceptions import ValidationError
from nscma_torch.core.errors import InvalidInputError, ScopeError
from nscma_torch.core.records import Scope
from nscma_torch.text.surrogates import refuse_surrogates

logger = logging.getLogger(__name__)

IDS = ("user_id", "agent_id", "run_id")
NO_USER = "mem0: without a user"
ANY = "*"
_IDENTITY = frozenset({*IDS, "actor_id"})  # keys that metadata cannot set


def trimmed(value: object, name: str) -> str | None:
    """Strip whitespace from an id; numbers become strings, and None stays None.

    Raises `ScopeError` if the id is empty or contains whitespace.
    """
    if value is None:
        return None
    text = str(value).strip()
    if not text:
        raise ScopeError(f"Invalid {name}: cannot be empty or whitespace-only. Provide a valid identifier.")
    if any(letter.isspace() for letter in text):
        raise ScopeError(f"Invalid {name}: cannot contain whitespace. Provide a valid identifier without spaces.")
    return text


def scope_of(ids: Mapping[str, Any]) -> Scope | None:
    """Return the scope given by ids, or None if there are no ids. Raises `ScopeError` for an invalid id."""
    user, agent, run = (trimmed(ids.get(name), name) for name in IDS)
    if user is None and agent is None and run is None:
        return None
    return Scope(NO_USER if user is None else user, agent, run)


def scope_to_write(ids: Mapping[str, Any]) -> Scope:
    """Return the scope for adding. Raises `ValidationError` if no id is given."""
    scope = scope_of(ids)
    if scope is None:
        raise ValidationError(
            "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
            error_code="VALIDATION_001",
            details={"provided_ids": {name: ids.get(name) for name in IDS}},
            suggestion="Please provide at least one identifier to scope the memory operation.",
        )
    return scope


def scope_to_read(filters: Mapping[str, Any] | None, ids: Mapping[str, Any]) -> tuple[Scope, dict[str, Any]]:
    """Return the scope for a read, and the remaining filters. Ids may be given in `filters` or separately.

    If an agent or run is `*`, it remains a filter that matches any named agent or run. A user is always required, as no
    read crosses users.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"filters must be a dict, got {type(filters).__name__}")
    refuse_surrogates(filters, "filters")
    rest = dict(filters or {})
    named: dict[str, Any] = {}
    for name in IDS:
        inside, outside = rest.pop(name, None), ids.get(name)
        if inside is not None and outside is not None and trimmed(inside, name) != trimmed(outside, name):
            raise ScopeError(f"{name} is {outside!r}, and {inside!r} inside filters; give one of them")
        given = outside if inside is None else inside
        if given == ANY and name == "user_id":
            raise ScopeError("user_id cannot be '*': a search is limited to one user; search for each user separately")
        if given == ANY:
            rest[name] = ANY
        else:
            named[name] = given
    if scope := scope_of(named):
        return scope, rest
    if rest.keys() & set(IDS):
        return Scope(NO_USER), rest
    raise InvalidInputError(
        "filters must contain at least one of: user_id, agent_id, run_id. Example: filters={'user_id': 'u1'}"
    )


def without_ids(metadata: Mapping[str, Any] | None, call: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without id keys; warn if one differs from the `known` ids."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be a dict, got {type(metadata).__name__}")
    for key in sorted(_IDENTITY & metadata.keys()):
        if metadata[key] != known.get(key):
            logger.warning("%s: metadata[%r] is ignored: metadata cannot set a memory's owner", call, key)
    return {key: value for key, value in metadata.items() if key not in _IDENTITY}
