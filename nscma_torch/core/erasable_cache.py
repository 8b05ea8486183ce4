"""Caches of words and texts that users said: erasing empties them in the process, as it empties the files."""

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
    """`functools.lru_cache(maxsize)` for a function of a module whose arguments are words or texts of users."""

    def cached(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        holder = lru_cache(maxsize)(function)
        _holders.append(holder)
        return holder

    return cached


def empty_with_others(keeper: _Keeper) -> None:
    """Have an object's `forget` called, for as long as the object lives, whenever the caches are emptied."""
    _keepers.add(keeper)


def erase_caches() -> None:
    """Empty every `erasable_cache` cache, and what else keeps texts of users."""
    for keeper in list(_keepers):
        keeper.forget()
    for holder in _holders:
        holder.cache_clear()
