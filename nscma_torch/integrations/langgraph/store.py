"""`NscmaStore`: LangGraph's `BaseStore`, implemented with a `Memory`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_count, checked_instance, checked_message, checked_text
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Episode, Scope
from nscma_torch.integrations.langgraph.filters import condition_of
from nscma_torch.integrations.langgraph.items import (
    WHOLE,
    CheckedItem,
    checked_paths,
    checked_value,
    held_by,
    idempotency_key,
    item_of,
    search_item_of,
    text_of,
)
from nscma_torch.integrations.langgraph.layout import Layout
from nscma_torch.integrations.langgraph.listing import condition_on, scope_listed
from nscma_torch.integrations.langgraph.reading import find, found, is_below, under
from nscma_torch.integrations.langgraph.writing import write

_Read = Callable[[], Result]


class NscmaStore(BaseStore):
    """A store that keeps items as messages in a memory: searched by meaning and words, processed for facts, and
    erasable.

    Args:
        memory: the memory that stores the items; the caller closes it.
        layout: the prefix of all namespaces, with the placeholders "{user_id}", "{agent_id}" and "{run_id}". By
            default, the first label is the user's id, or if `user_id` is given, any label may come first.
        user_id: the user who owns all items; the layout then names no user.
        fields: paths to the parts of an item's value that are searched, or "$" for the whole value; `put(index=…)`
            overrides them.

    Every operation belongs to one user. An operation that names no user is an error, such as a search without a prefix
    in a store for many users.
    """

    supports_ttl = False

    def __init__(
        self,
        memory: Memory,
        *,
        layout: Sequence[str] | None = None,
        user_id: str | None = None,
        fields: Sequence[str] = (WHOLE,),
    ) -> None:
        self.memory = checked_instance(memory, Memory, "memory")
        default = ("{user_id}",) if user_id is None else ()
        self.layout = Layout(default if layout is None else layout, user_id)
        self.fields = checked_paths(fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations together: all are validated first, then reads run, then writes.

        Raises:
            InvalidNamespaceError: a label is empty, not a string, or contains a period.
            ScopeError: a namespace names no user, or doesn't match the layout.
            InvalidInputError: a value isn't JSON-serialisable, a filter is unknown, or a TTL is given; nothing is
                stored.
        """
        prepared = [self._prepared(op) for op in ops]
        results = [None if isinstance(one, CheckedItem) else one() for one in prepared]
        write(self.memory, [one for one in prepared if isinstance(one, CheckedItem)])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Call `batch` in a thread, off the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _prepared(self, op: Op) -> _Read | CheckedItem:
        """Validate an operation; return a read, or an item to be written."""
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            return partial(self._get, self._scope(op.namespace), op)
        if isinstance(op, PutOp):
            return self._put(op)
        if isinstance(op, SearchOp):
            fits = condition_of(op.filter)
            _checked_page(op.limit, op.offset)
            if op.query:
                checked_text(op.query, "the query")
            return partial(self._search, self.layout.scope_of(op.namespace_prefix), op, fits)
        if isinstance(op, ListNamespacesOp):
            _checked_page(op.limit, op.offset)
            if op.max_depth is not None:
                checked_count(op.max_depth, "max_depth")
            conditions = [condition_on(one) for one in op.match_conditions or ()]
            return partial(self._namespaces, scope_listed(self.layout, op), op, conditions)
        raise InvalidInputError(f"an operation must be one of LangGraph's, got {type(op).__name__}")

    def _scope(self, namespace: tuple[str, ...]) -> Scope:
        if not namespace:
            raise InvalidNamespaceError("a namespace cannot be empty")
        return self.layout.scope_of(namespace)

    def _put(self, op: PutOp) -> CheckedItem:
        if op.ttl is not None:
            raise InvalidInputError("this store has no expiry; omit ttl")
        namespace, key = tuple(op.namespace), checked_text(op.key, "the key of an item")
        scope = self._scope(namespace)
        if op.value is None:
            return CheckedItem(scope, namespace, key, None)
        value = checked_value(op.value, self.memory.config.limits)
        paths = self.fields if op.index is None or op.index is False else checked_paths(op.index)
        put = CheckedItem(scope, namespace, key, value, None if op.index is False else text_of(value, paths))
        now = datetime.now(UTC)
        checked_message(put.message(created_at=now, updated_at=now), self.memory.config.limits, now)
        return put

    def _get(self, scope: Scope, op: GetOp) -> Item | None:
        key = idempotency_key(op.namespace, op.key)
        episode = find(self.memory, scope.user_id, [key]).get(key)
        if episode is None or episode.status != "active":
            return None
        held = held_by(episode)
        gone = episode.expires_at is not None and episode.expires_at <= datetime.now(UTC)
        return None if held is None or gone else item_of(held)

    def _search(self, scope: Scope, op: SearchOp, fits: Callable[[Any], bool]) -> list[SearchItem]:
        prefix, most = op.namespace_prefix, op.offset + op.limit

        def belongs(episode: Episode) -> bool:
            held = held_by(episode)
            return held is not None and held["indexed"] and is_below(held, prefix) and fits(held["value"])

        if not op.limit:
            return []
        if op.query:
            return found(self.memory, scope, op.query, most, belongs)[op.offset :]
        fitting = [held for held in under(self.memory, scope, prefix) if fits(held["value"])]
        return [search_item_of(held) for held in fitting[op.offset : most]]

    def _namespaces(
        self, scope: Scope, op: ListNamespacesOp, conditions: Sequence[Callable[[Sequence[str]], bool]]
    ) -> list[tuple[str, ...]]:
        every = {tuple(held["namespace"]) for held in under(self.memory, scope, ())}
        fitting = {path[: op.max_depth] for path in every if all(fits(path) for fits in conditions)}
        return sorted(fitting)[op.offset : op.offset + op.limit]


def _checked_page(limit: int, offset: int) -> None:
    for name, value in (("limit", limit), ("offset", offset)):
        if value != 0:
            checked_count(value, name, "an integer of at least 0")
