"""Caches of words and texts that users said: erasing empties them in the process, as it empties the files."""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import TypeVar

Result = TypeVar("Result")

_holders: list[_lru_cache_wrapper[object]] = []


def erasable_cache(maxsize: int) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """`functools.lru_cache(maxsize)` for a function of a module whose arguments are words or texts of users."""

    def cached(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        holder = lru_cache(maxsize)(function)
        _holders.append(holder)
        return holder

    return cached


def erase_caches() -> None:
    """Empty every `erasable_cache` cache."""
    for holder in _holders:
        holder.cache_clear()
