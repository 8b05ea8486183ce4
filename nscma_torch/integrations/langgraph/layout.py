"""Map namespace labels to user, agent and run."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.errors import InvalidInputError, ScopeError
from nscma_torch.core.records import Scope

_PLACES = {"{user_id}": "user_id", "{agent_id}": "agent_id", "{run_id}": "run_id"}
ANY = "*"  # in a condition on namespaces: any label


class Layout:
    """The prefix of all namespaces in a store: literal labels, and placeholders for ids.

    `("memories", "{user_id}", "{agent_id}")` reads the user's id from the second label, and the agent's from the third
    if there is one. If `user_id` is given, the whole store belongs to this user, and labels name no other user.

    Raises `InvalidInputError` if the labels don't determine the user, or do so twice.
    """

    def __init__(self, labels: Sequence[str], user_id: str | None = None) -> None:
        if isinstance(labels, str) or not all(isinstance(label, str) and label for label in labels):
            raise InvalidInputError(f"layout is {labels!r}; it must be labels such as ('memories', '{{user_id}}')")
        places = [label for label in labels if label.startswith("{") or label in _PLACES]
        for label in places:
            if label not in _PLACES or places.count(label) > 1:
                raise InvalidInputError(f"layout has {label!r}; each of {', '.join(_PLACES)} may occur in it once")
        if ("{user_id}" in places) == (user_id is not None):
            raise InvalidInputError(
                f"layout is {tuple(labels)!r} and user_id {user_id!r}; name the user in only one "
                "of the two: as '{user_id}' in the layout, or as user_id for all namespaces"
            )
        self.labels = tuple(labels)
        self.user_id = None if user_id is None else Scope(user_id).user_id

    def scope_of(self, path: Sequence[str], *, wildcards: bool = False) -> Scope:
        """Return the scope for a namespace or prefix; ids beyond its length are None.

        With `wildcards`, "*" matches any label. Raises `ScopeError` if the namespace doesn't name the user, or doesn't
        match the layout.
        """
        ids: dict[str, str | None] = {"user_id": self.user_id}
        for expected, label in zip(self.labels, path, strict=False):
            if wildcards and label == ANY:
                continue
            if expected in _PLACES:
                ids[_PLACES[expected]] = label
            elif label != expected:
                raise ScopeError(
                    f"the namespace {tuple(path)!r} does not start with the store's layout {self.labels!r}"
                )
        user_id = ids.pop("user_id")
        if user_id is None:
            raise ScopeError(
                f"the namespace {tuple(path)!r} names no user; in this store namespaces begin with {self.labels!r}, "
                "and nothing is read or written across users"
            )
        return Scope(user_id, **ids)
