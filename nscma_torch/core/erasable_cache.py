"""Caches of users' words and texts, which an erasure empties in the process as it does in the files."""

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
    """`functools.lru_cache(maxsize)` for module functions whose arguments are users' words or texts."""

    def cached(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        holder = lru_cache(maxsize)(function)
        _holders.append(holder)
        return holder

    return cached


def empty_with_others(keeper: _Keeper) -> None:
    """Call an object's `forget` whenever the caches are emptied, while the object lives."""
    _keepers.add(keeper)


def erase_caches() -> None:
    """Empty every `erasable_cache`, and the other keepers of users' texts."""
    for keeper in list(_keepers):
        keeper.forget()
    for holder in _holders:
        holder.cache_clear()
