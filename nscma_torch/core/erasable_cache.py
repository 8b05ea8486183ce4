"""Caches of users' words and texts, which an erasure must empty in the process as well as in the files."""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import Protocol, TypeVar
from weakref import WeakSet

Result = TypeVar("Result")


class _Keeper(Protocol):
    def forget(self) -> None: ...


_holders: list[_lru_cache_wrapper[object]] = []
_keepers: WeakSet[_Keeper] = WeakSet()


def erasable_cache(maxsize: int) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """Return `functools.lru_cache(maxsize)` for a function whose arguments are users' words or texts."""

    def cached(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        holder = lru_cache(maxsize)(function)
        _holders.append(holder)
        return holder

    return cached


def empty_with_others(keeper: _Keeper) -> None:
    """Call an object's `forget` whenever the caches are emptied, as long as the object exists."""
    _keepers.add(keeper)


def erase_caches() -> None:
    """Empty every `erasable_cache`, and call `forget` on the registered objects."""
    for keeper in list(_keepers):
        keeper.forget()
    for holder in _holders:
        holder.cache_clear()
