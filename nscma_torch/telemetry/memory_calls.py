"""Record operations on a memory: their names, counts and durations, never a text, a user or a message's id."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from nscma_torch.core.records import Added, Answer, EraseReceipt
from nscma_torch.telemetry import names
from nscma_torch.telemetry.recorder import Attributes, Recorder

T = TypeVar("T")
_PROVIDER = "nscma"
_ON_RECORDS = ("create_memory", "search_memory", "update_memory", "delete_memory")
_LABELS = (names.OPERATION, names.PROVIDER, names.METHOD)


class MemoryCalls:
    """Records the operations on one store.

    Args:
        store: the store's address, of which a hash is recorded.
    """

    def __init__(self, recorder: Recorder, store: str) -> None:
        self._recorder = recorder
        self._store = hashlib.sha256(store.encode()).hexdigest()[:16]

    def run(self, name: str, method: str, call: Callable[[], T]) -> T:
        """Run an operation as a span. If it returns an iterator, the span ends with the iterator.

        Args:
            name: the operation's name by the conventions, or else the method's.
        """
        attributes = {
            names.OPERATION: name,
            names.PROVIDER: _PROVIDER,
            names.STORE: self._store,
            names.METHOD: method,
        }
        running = self._recorder.begin(name, attributes, duration=names.OPERATION_SECONDS, labels=_LABELS)
        lasting = False
        try:
            with running.current():
                result = call()
            if isinstance(result, Iterator):
                lasting = True
                return cast(T, running.iterated(result, lambda count: _counted(name, count), _is_new))
            running.note(_result(name, result))
            return result
        finally:
            if not lasting:
                running.end()


def _result(name: str, result: Any) -> Attributes:
    """Return the attributes that an operation's result adds."""
    if isinstance(result, Answer):
        return {names.ABSTAINED: result.abstained, names.RESULTS: len(result.evidence)}
    if name == "update_memory":
        return _counted(name, 1)
    if isinstance(result, EraseReceipt):
        return _counted(name, result.rows.get("episodes", 0))
    if name == "create_memory":
        return _counted(name, sum(map(_is_new, result)))
    if name in _ON_RECORDS and isinstance(result, int):
        return _counted(name, int(result))
    return _counted(name, len(result)) if isinstance(result, list) else {}


def _is_new(item: object) -> bool:
    """Return False for a message that was stored before."""
    return not isinstance(item, Added) or item.event == "ADD"


def _counted(name: str, count: int) -> Attributes:
    return {names.RECORDS if name in _ON_RECORDS else names.RESULTS: count}
