"""Properties that one thread computes once while others wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, overload

T = TypeVar("T")


class HasBuildLock(Protocol):
    """An object with locked properties, which share one lock because they depend on each other."""

    build_lock: threading.RLock


class locked_cached_property(Generic[T]):  # noqa: N801 - a decorator, as `functools.cached_property` is
    """A `functools.cached_property` with a lock, which Python 3.12 removed: models are too large to load twice."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> locked_cached_property[T]: ...
    @overload
    def __get__(self, owner: HasBuildLock, kind: type) -> T: ...
    def __get__(self, owner: HasBuildLock | None, kind: type) -> locked_cached_property[T] | T:
        if owner is None:
            return self
        known = vars(owner)
        if self._name not in known:  # a finished value is available without waiting for another thread's
            with owner.build_lock:
                if self._name not in known:
                    known[self._name] = self._compute(owner)
        value: T = known[self._name]
        return value
