"""Conditions for listing namespaces, and the scopes to list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langgraph.store.base import ListNamespacesOp, MatchCondition

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Scope
from nscma_torch.integrations.langgraph.layout import ANY, Layout


def condition_on(match: MatchCondition) -> Callable[[Sequence[str]], bool]:
    """Return a predicate that is true if a namespace begins or ends with a path, in which "*" matches any label."""
    path = tuple(match.path)
    if match.match_type not in ("prefix", "suffix"):
        raise InvalidInputError(f"unknown match type {match.match_type!r}; namespaces match by prefix or by suffix")
    end = match.match_type == "suffix"

    def fits(namespace: Sequence[str]) -> bool:
        part = namespace[len(namespace) - len(path) :] if end else namespace[: len(path)]
        return len(part) == len(path) and all(map(_same, part, path))

    return lambda namespace: len(namespace) >= len(path) and fits(namespace)


def _same(label: str, expected: str) -> bool:
    return expected in (ANY, label)


def scope_listed(layout: Layout, op: ListNamespacesOp) -> Scope:
    """Return the scope to list; a prefix must name the user. Raises `ScopeError` otherwise."""
    prefixes = [one.path for one in op.match_conditions or () if one.match_type == "prefix"]
    return layout.scope_of(max(prefixes, key=len, default=()), wildcards=True)
